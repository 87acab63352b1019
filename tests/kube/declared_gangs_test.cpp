#include "kube/owners/declared_gangs.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "cluster/holdings/cluster_state.hpp"
#include "kube/decode/decode.hpp"

namespace muster::kube {
namespace {

cluster::Pod Pod(const std::string& uid, int64_t size, const std::string& group = "g") {
  cluster::Pod pod;
  pod.uid = cluster::PodUid(uid);
  pod.key = {"n", uid};
  pod.pod_group = group;
  pod.declared_min_member = size;
  return pod;
}

// "n/g needs 2", "n/g defect …", "-n/g", joined; empty: nothing changes.
std::string Told(DeclaredGangs& gangs, const engine::Fact& fact) {
  std::string text;
  for (const engine::Fact& one : gangs.Observe(fact)) {
    if (const auto* group = std::get_if<cluster::PodGroup>(&one)) {
      text += group->key.ToString() + " needs " + std::to_string(group->min_member);
      if (!group->defect.empty()) text += ", defect: " + group->defect;
    } else {
      text += "-" + std::get<engine::PodGroupRemoved>(one).uid.text();
    }
    text += ";";
  }
  return text;
}

TEST_CASE("a gang given by its pods alone lives as long as they do", "[kube][declared]") {
  DeclaredGangs gangs;
  CHECK(Told(gangs, Pod("a", 2)) == "n/g needs 2;");
  CHECK(Told(gangs, Pod("b", 2)).empty());
  CHECK(Told(gangs, Pod("b", 2)).empty());
  CHECK(Told(gangs, Pod("c", 0)).empty());
  CHECK(Told(gangs, engine::PodRemoved{cluster::PodUid("a")}).empty());
  CHECK(Told(gangs, engine::PodRemoved{cluster::PodUid("b")}) == "-declared/n/g/1;");
  CHECK(Told(gangs, engine::PodRemoved{cluster::PodUid("b")}).empty());
}

TEST_CASE("a gang is as old as its owner, though its pods are newer", "[kube][declared]") {
  DeclaredGangs gangs;
  Grouping owner;
  owner.kind = Grouping::Kind::kGang;
  const auto created = [&](const std::string& uid, int64_t at) {
    cluster::Pod pod = Pod(uid, 2);
    pod.created = cluster::Time(at);
    const auto facts = gangs.Observe(pod, &owner);
    return facts.empty() ? cluster::Time() : std::get<cluster::PodGroup>(facts.front()).created;
  };
  CHECK(created("a", 5'000) == cluster::Time(5'000));
  owner.since = cluster::Time(1'000);
  CHECK(created("b", 6'000) == cluster::Time(1'000));
}

TEST_CASE("a gang that comes again under its name is planned again", "[kube][declared]") {
  DeclaredGangs gangs;
  cluster::ClusterState state;
  const auto tell = [&](const engine::Fact& fact) {
    for (const engine::Fact& one : gangs.Observe(fact)) {
      if (const auto* group = std::get_if<cluster::PodGroup>(&one)) state.Upsert(*group);
      if (const auto* gone = std::get_if<engine::PodGroupRemoved>(&one)) state.Remove(gone->uid);
    }
  };
  for (const char* pod : {"first", "second"}) {
    tell(Pod(pod, 2));
    CHECK(state.FindPodGroup({"n", "g"}) != nullptr);
    tell(engine::PodRemoved{cluster::PodUid(pod)});
    CHECK(state.FindPodGroup({"n", "g"}) == nullptr);
  }
}

TEST_CASE("pods that disagree make the gang invalid until they agree", "[kube][declared]") {
  DeclaredGangs gangs;
  Told(gangs, Pod("a", 2));
  CHECK(Told(gangs, Pod("b", 3)) ==
        "n/g needs 2, defect: its pods disagree on how many members it needs: 2 and 3;");
  CHECK(Told(gangs, Pod("a", 3)) == "n/g needs 3;");
}

TEST_CASE("while pods run their number counts, until all agree on another", "[kube][declared]") {
  DeclaredGangs gangs;
  const auto running = [](const std::string& uid, int64_t size) {
    cluster::Pod pod = Pod(uid, size);
    pod.node_name = "n0";
    pod.phase = cluster::PodPhase::kRunning;
    return pod;
  };
  for (const char* pod : {"a", "b"}) {
    Told(gangs, Pod(pod, 4));
    CHECK(Told(gangs, running(pod, 4)).empty());
  }
  CHECK(Told(gangs, Pod("c", 5)).empty());
  CHECK(Told(gangs, running("c", 5)).empty());
  CHECK(Told(gangs, engine::PodRemoved{cluster::PodUid("b")}).empty());
  CHECK(Told(gangs, Pod("b2", 5)).empty());
  cluster::Pod ended = running("a", 4);
  ended.phase = cluster::PodPhase::kFailed;
  CHECK(Told(gangs, ended) == "n/g needs 5;");
  CHECK(Told(gangs, engine::PodRemoved{cluster::PodUid("a")}).empty());
  CHECK(Told(gangs, Pod("d", 4)).empty());
  CHECK_THAT(Told(gangs, engine::PodRemoved{cluster::PodUid("c")}), Catch::Contains("disagree"));
}

TEST_CASE("a PodGroup object takes precedence over what pods say", "[kube][declared]") {
  DeclaredGangs gangs;
  cluster::PodGroup object;
  object.uid = cluster::PodGroupUid("o");
  object.key = {"n", "g"};
  CHECK(Told(gangs, Pod("a", 2)) == "n/g needs 2;");
  CHECK(Told(gangs, object) == "-declared/n/g/1;");
  CHECK(Told(gangs, Pod("b", 2)).empty());
  CHECK(Told(gangs, engine::PodGroupRemoved{object.uid}) == "n/g needs 2;");
  CHECK(Told(gangs, object) == "-declared/n/g/2;");
  CHECK(Told(gangs, engine::PodGroupUnserved{object.uid}) == "n/g needs 2;");
}

TEST_CASE("the size is read by every name that it goes by", "[kube][declared]") {
  const std::pair<const char*, const char*> forms[] = {
      {R"("scheduling.x-k8s.io/pod-group":"g")", R"("muster.dev/min-member":"4")"},
      {R"("kueue.x-k8s.io/pod-group-name":"g")", R"("kueue.x-k8s.io/pod-group-total-count":"4")"},
      {R"("pod-group.scheduling.sigs.k8s.io/name":"g",)"
       R"("pod-group.scheduling.sigs.k8s.io/min-available":"4")",
       ""},
      {"", R"("gang.scheduling.koordinator.sh/name":"g",)"
           R"("gang.scheduling.koordinator.sh/min-available":"4")"},
      {"", R"("scheduling.k8s.io/group-name":"g","scheduling.volcano.sh/group-min-member":"4")"},
      {R"("scheduling.x-k8s.io/pod-group":"g","fluence.group-size":"4")", ""}};
  for (const auto& [labels, annotations] : forms) {
    CAPTURE(labels, annotations);
    const auto pod =
        DecodePod(R"({"metadata":{"name":"p","namespace":"n","uid":"u","labels":{)" +
                  std::string(labels) + R"(},"annotations":{)" + annotations + R"(}},"spec":{}})");
    REQUIRE(pod.ok());
    CHECK(pod->pod_group == "g");
    CHECK(pod->declared_min_member == 4);
    CHECK(pod->defect.empty());
  }
}

TEST_CASE("a size that is none is a defect, and without a gang it says nothing",
          "[kube][declared]") {
  const auto decode = [](const std::string& group, const std::string& size) {
    return *DecodePod(R"({"metadata":{"name":"p","namespace":"n","uid":"u","annotations":{)" +
                      group + R"("muster.dev/min-member":")" + size + R"("}},"spec":{}})");
  };
  for (const char* size : {"0", "-1", "two", "3.5", "99999999999999999999"}) {
    CHECK_THAT(decode(R"("pod-group-name":"g",)", size).defect,
               Catch::Contains("muster.dev/min-member"));
  }
  CHECK(decode("", "two").defect.empty());
}

TEST_CASE("of pods whose owner says it the least minimum counts, with its roles",
          "[kube][declared][grouping]") {
  DeclaredGangs gangs;
  using Roles = std::vector<cluster::RoleMinimum>;
  const auto tell = [&](const std::string& uid, int64_t size, const Roles& roles) {
    std::string text;
    Grouping owner;
    owner.roles = roles;
    owner.attempts_of = "jobset:train~1";
    for (const engine::Fact& one : gangs.Observe(Pod(uid, size), &owner)) {
      const auto& group = std::get<cluster::PodGroup>(one);
      text += std::to_string(group.min_member) + group.defect;
      CHECK(group.by_owner);
      CHECK(group.attempts_of == "jobset:train~1");
      for (const cluster::RoleMinimum& role : group.roles)
        text += " " + role.name + " " + std::to_string(role.min_member);
    }
    return text;
  };
  CHECK(tell("a", 1, {}) == "1");  // a phase in which only the leader is there
  CHECK(tell("b", 3, {{"leader", 1}, {"worker", 2}}).empty());
  CHECK(tell("a", 3, {{"leader", 1}, {"worker", 2}}) == "3 leader 1 worker 2");
}

TEST_CASE("as long as an owner of one pod cannot be read all that are known are needed",
          "[kube][declared]") {
  DeclaredGangs gangs;
  Grouping unreadable;
  unreadable.kind = Grouping::Kind::kUnreadable;
  unreadable.reason = "Job g: no right";
  Grouping known;
  known.kind = Grouping::Kind::kGang;
  const auto tell = [&](const cluster::Pod& pod, const Grouping& by) {
    const auto facts = gangs.Observe(engine::Fact(pod), &by);
    REQUIRE(facts.size() == 1);
    return std::get<cluster::PodGroup>(facts.front());
  };
  CHECK(tell(Pod("a", 1), unreadable).min_member == 1);
  const cluster::PodGroup two = tell(Pod("b", 1), unreadable);
  CHECK(two.min_member == 2);
  CHECK(two.unreadable == "Job g: no right");
  // They hear of it one after the other.
  CHECK(gangs.Observe(engine::Fact(Pod("a", 4)), &known).empty());
  const cluster::PodGroup four = tell(Pod("b", 4), known);
  CHECK(four.min_member == 4);
  CHECK(four.unreadable.empty());
  CHECK(four.uid == two.uid);
}

cluster::Pod Koordinators(const std::string& annotations, const std::string& labels = "",
                          const std::string& name = "p") {
  const auto pod = DecodePod(R"({"metadata":{"name":")" + name + R"(","namespace":"n","uid":")" +
                             name + R"(","labels":{)" + labels + R"(},"annotations":{)" +
                             annotations + R"(}},"spec":{}})");
  REQUIRE(pod.ok());
  return *pod;
}

std::string Key(const char* word, const std::string& value) {
  std::string text = std::string("\"gang.scheduling.koordinator.sh/") + word + "\":\"";
  for (const char c : value) text += c == '"' ? std::string("\\\"") : std::string(1, c);
  return text + "\"";
}

std::string OfGroup(const std::string& gang, int64_t least, const std::string& groups) {
  return Key("name", gang) + "," + Key("min-available", std::to_string(least)) + "," +
         Key("groups", groups);
}

TEST_CASE("gangs of one Koordinator group are one gang, each a role of it", "[kube][declared]") {
  const std::string groups = R"(["n/worker","n/master","n/worker"])";
  const cluster::Pod master = Koordinators(OfGroup("master", 1, groups), "", "m");
  CHECK(master.defect.empty());
  CHECK(master.pod_group == "master+worker");
  CHECK(master.role == "master");
  DeclaredGangs gangs;
  const auto told = [&](const engine::Fact& fact) {
    std::string text;
    for (const engine::Fact& one : gangs.Observe(fact)) {
      const auto& group = std::get<cluster::PodGroup>(one);
      text += group.key.name + " " + std::to_string(group.min_member) + group.defect;
      for (const cluster::RoleMinimum& role : group.roles)
        text += " " + role.name + " " + std::to_string(role.min_member);
    }
    return text;
  };
  // One pod at least of the gang that nobody has seen is waited for.
  CHECK(told(master) == "master+worker 2 master 1 worker 1");
  const auto worker = [&](const char* name, int64_t least) {
    return Koordinators(OfGroup("worker", least, groups), "", name);
  };
  CHECK(told(worker("w0", 2)) == "master+worker 3 master 1 worker 2");
  CHECK(told(worker("w1", 2)).empty());
  // Pods of one gang that disagree are a defect of that one.
  CHECK_THAT(told(worker("w2", 3)),
             Catch::Contains("the pods of worker disagree on how many members it needs: 2 and 3"));
  CHECK(told(engine::PodRemoved{cluster::PodUid("w2")}) == "master+worker 3 master 1 worker 2");
}

TEST_CASE("a group of Koordinator's that is the gang itself says nothing", "[kube][declared]") {
  for (const char* groups : {"", "[]", R"(["n/g"])"}) {
    const cluster::Pod pod = Koordinators(OfGroup("g", 2, groups));
    CHECK(pod.defect.empty());
    CHECK(pod.pod_group == "g");
    CHECK(pod.role.empty());
    CHECK(pod.gang_words == nullptr);
  }
}

TEST_CASE("a group of Koordinator's that cannot be planned together is refused by name",
          "[kube][declared]") {
  const auto defect = [](const std::string& groups) {
    return Koordinators(OfGroup("g", 2, groups)).defect;
  };
  for (const char* malformed : {"n/g", R"({"a":"n/g"})", R"(["g"])", R"(["n/"])", "[1]"}) {
    CAPTURE(malformed);
    CHECK_THAT(defect(malformed), Catch::Contains("gang.scheduling.koordinator.sh/groups") &&
                                      Catch::Contains("NAMESPACE/GANG"));
  }
  CHECK_THAT(defect(R"(["n/g","other/h"])"),
             Catch::Contains("other/h") && Catch::Contains("several namespaces"));
  CHECK_THAT(defect(R"(["n/a","n/b"])"), Catch::Contains("the pod's own gang g"));
  // Pods of a PodGroup object go by what that says.
  const std::string object = R"("pod-group.scheduling.sigs.k8s.io":"g")";
  const cluster::Pod pod = Koordinators(OfGroup("h", 2, R"(["x/y"])"), object);
  CHECK(pod.defect.empty());
  CHECK(pod.pod_group == "g");
}

TEST_CASE("queue and class that an owner names are its gang's, the queue where no pod names one",
          "[kube][declared]") {
  DeclaredGangs gangs;
  Grouping owner;
  owner.minimum = 2;
  owner.queue = "of-owner";
  owner.priority_class = "high";
  owner.not_honoured = {"spec.x: nothing"};
  const auto told = [&](const std::string& uid, const std::string& queue) {
    cluster::Pod pod = Pod(uid, 2);
    pod.asked_queue = queue;
    const auto facts = gangs.Observe(engine::Fact(pod), &owner);
    REQUIRE_FALSE(facts.empty());
    return std::get<cluster::PodGroup>(facts.back());
  };
  const cluster::PodGroup first = told("a", "");
  CHECK(first.queue == "of-owner");
  CHECK(first.priority.class_name == "high");
  CHECK(first.not_honoured == std::vector<std::string>{"spec.x: nothing"});
  CHECK(told("b", "of-pod").queue.empty());
}

TEST_CASE("Koordinator's waiting time, mode and match policy", "[kube][declared]") {
  const auto words = [](const std::string& more) {
    const cluster::Pod pod =
        Koordinators(Key("name", "g") + "," + Key("min-available", "2") + "," + more);
    CHECK(pod.defect.empty());
    return pod.gang_words == nullptr ? cluster::GangWords() : *pod.gang_words;
  };
  CHECK(words(Key("waiting-time", "1m30s")).schedule_timeout == cluster::Seconds(90));
  CHECK(words(Key("waiting-time", "0s")) == cluster::GangWords());
  CHECK_THAT(words(Key("waiting-time", "-1s")).unheeded, Catch::Contains("waiting-time"));
  CHECK(words(Key("mode", "Strict")) == cluster::GangWords());
  CHECK_THAT(words(Key("mode", "NonStrict")).unheeded, Catch::Contains("NonStrict"));
  CHECK_THAT(words(Key("mode", "Odd")).unheeded, Catch::Contains("expected Strict or NonStrict"));
  CHECK(words(Key("match-policy", "once-satisfied")) == cluster::GangWords());
  CHECK_THAT(words(Key("match-policy", "only-waiting")).unheeded, Catch::Contains("match-policy"));
  const std::string alias = R"("pod-group.scheduling.sigs.k8s.io/match-policy":)";
  CHECK(words(alias + R"("once-satisfied")") == cluster::GangWords());
  CHECK_THAT(words(alias + R"("only-waiting")").unheeded,
             Catch::StartsWith("pod-group.scheduling.sigs.k8s.io/match-policy: a gang that"));
  // The shortest of those that its pods give is the gang's.
  DeclaredGangs gangs;
  const auto timeout = [&](const char* name, const char* time) {
    const auto facts = gangs.Observe(engine::Fact(Koordinators(
        Key("name", "g") + "," + Key("min-available", "2") + "," + Key("waiting-time", time), "",
        name)));
    return std::get<cluster::PodGroup>(facts.back()).schedule_timeout;
  };
  CHECK(timeout("a", "10m") == cluster::Seconds(600));
  CHECK(timeout("b", "5m") == cluster::Seconds(300));
}

TEST_CASE("Koordinator's words that do not count are told of PodGroups and their pods, too",
          "[kube][declared]") {
  using Told = std::vector<std::string>;
  const auto told = [](const std::string& more) {
    const auto group =
        DecodePodGroup(R"({"apiVersion":"scheduling.sigs.k8s.io/v1alpha1","kind":"PodGroup",)"
                       R"("metadata":{"name":"g","namespace":"n","uid":"u","annotations":{)" +
                       more + R"(}},"spec":{"minMember":2}})");
    REQUIRE(group.ok());
    CHECK(group->defect.empty());
    return group->not_honoured;
  };
  CHECK(told(Key("mode", "Strict") + "," + Key("match-policy", "once-satisfied")).empty());
  CHECK(told(Key("mode", "NonStrict")) ==
        Told{"gang.scheduling.koordinator.sh/mode: NonStrict: Muster keeps nothing for a part of a "
             "gang, whatever its mode"});
  CHECK(told(Key("match-policy", "only-waiting")).size() == 1);
  CHECK(told(R"("pod-group.scheduling.sigs.k8s.io/match-policy":"only-waiting")").size() == 1);
  CHECK(told(Key("waiting-time", "10m")) ==
        Told{"gang.scheduling.koordinator.sh/waiting-time: spec.scheduleTimeoutSeconds counts"});
  const cluster::Pod pod = Koordinators(Key("waiting-time", "10m") + "," + Key("mode", "Odd"),
                                        R"("pod-group.scheduling.sigs.k8s.io":"g")");
  REQUIRE(pod.gang_words != nullptr);
  CHECK(pod.gang_words->unheeded ==
        "gang.scheduling.koordinator.sh/mode: expected Strict or NonStrict; "
        "gang.scheduling.koordinator.sh/waiting-time: it counts where Koordinator's words name "
        "the gang");
}

}  // namespace
}  // namespace muster::kube
