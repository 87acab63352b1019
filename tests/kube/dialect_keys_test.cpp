#include "kube/dialects/dialect_keys.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "cluster/base/split.hpp"
#include "kube/decode/decode.hpp"

namespace muster::kube {
namespace {

bool IsRowOf(const DialectField& row, const std::string& key) {
  if (!row.path.ends_with('*')) return row.path == key;
  return std::string_view(key).starts_with(row.path.substr(0, row.path.size() - 1));
}

// tests/kube/dialect_keys.txt: what the schedulers' sources name.
std::set<std::string> KeysOfSources() {
  std::ifstream file(std::string(MUSTER_SOURCE_DIR) + "/tests/kube/dialect_keys.txt");
  std::set<std::string> keys;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.front() != '#') keys.insert(line);
  }
  return keys;
}

TEST_CASE("every label and annotation of another scheduler has a mark", "[kube][dialects]") {
  const std::set<std::string> keys = KeysOfSources();
  CHECK(keys.size() > 200);
  for (const std::string& key : keys) {
    INFO(key);
    bool marked = false;
    for (const Dialect& dialect : DialectsOfKeys()) {
      for (const DialectField& row : dialect.fields) marked = marked || IsRowOf(row, key);
    }
    CHECK(marked);
  }
}

TEST_CASE("every mark is of a key that a scheduler knows, and says what follows",
          "[kube][dialects]") {
  const std::set<std::string> keys = KeysOfSources();
  std::set<std::string_view> rows;
  for (const Dialect& dialect : DialectsOfKeys()) {
    for (const DialectField& row : dialect.fields) {
      INFO(dialect.title << ": " << row.path);
      CHECK(rows.insert(row.path).second);
      CHECK((row.heed == Heed::kHonoured || !row.note.empty()));
      // A row that stands for several keys reports none of them.
      CHECK((row.heed != Heed::kNotHonoured || !row.path.ends_with('*')));
      bool known = false;
      for (const std::string& key : keys) known = known || IsRowOf(row, key);
      CHECK(known);
    }
  }
}

std::string Metadata(std::string_view place, std::string_view key, std::string_view value) {
  return R"("metadata":{"name":"p","namespace":"n","uid":"u",")" + std::string(place) + R"(":{")" +
         std::string(key) + R"(":")" + std::string(value) + R"("}})";
}

TEST_CASE("a key that is not honoured is reported where it is set, on pods and on PodGroups",
          "[kube][dialects]") {
  std::vector<std::string_view> keys;
  for (const Dialect& dialect : DialectsOfKeys()) {
    for (const DialectField& row : dialect.fields) {
      if (row.heed == Heed::kNotHonoured) keys.push_back(row.path);
    }
  }
  CHECK(keys.size() > 30);
  for (const std::string_view key : keys) {
    for (const char* place : {"labels", "annotations"}) {
      INFO(place << " " << key);
      const auto words = [&](const char* value) {
        const auto pod = DecodePod("{" + Metadata(place, key, value) + R"(,"spec":{}})");
        REQUIRE(pod.ok());
        return pod->gang_words == nullptr ? std::string() : pod->gang_words->unheeded;
      };
      CHECK(words("x").starts_with(std::string(key) + ": "));
      CHECK(words("false").empty());
      CHECK(words("").empty());
      const auto group =
          DecodePodGroup(R"({"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"PodGroup",)" +
                         Metadata(place, key, "x") + R"(,"spec":{"minMember":1}})");
      REQUIRE(group.ok());
      REQUIRE(group->not_honoured.size() == 1);
      CHECK(group->not_honoured.front().starts_with(std::string(key) + ": "));
    }
  }
}

TEST_CASE("a word that a key does not have is named with those that it has", "[kube][dialects]") {
  const auto words = [](std::string_view place, std::string_view key, std::string_view value) {
    const auto pod = DecodePod("{" + Metadata(place, key, value) + R"(,"spec":{}})");
    REQUIRE(pod.ok());
    return pod->gang_words == nullptr ? std::string() : pod->gang_words->unheeded;
  };
  int checked = 0;
  for (const Dialect& dialect : DialectsOfKeys()) {
    for (const DialectField& row : dialect.fields) {
      if (row.words.empty()) continue;
      INFO(row.path);
      ++checked;
      const char* place = row.place == Place::kLabel ? "labels" : "annotations";
      CHECK(words(place, row.path, "nope").starts_with(std::string(row.path) + ": expected "));
      CHECK(words(place, row.path, "").empty());
      for (const std::string_view word : cluster::Split(row.words, '|'))
        CHECK(words(place, row.path, word).empty());
    }
  }
  CHECK(checked >= 6);
  CHECK(words("labels", "kai.scheduler/preemptibility", "nonpreemptible") ==
        "kai.scheduler/preemptibility: expected preemptible, non-preemptible or semi-preemptible, "
        "got \"nonpreemptible\"");
}

TEST_CASE("a label that counts as an annotation is reported, and the reverse", "[kube][dialects]") {
  const auto words = [](const std::string& labels, const std::string& annotations) {
    const auto pod = DecodePod(R"({"metadata":{"name":"p","namespace":"n","uid":"u","labels":{)" +
                               labels + R"(},"annotations":{)" + annotations + R"(}},"spec":{}})");
    REQUIRE(pod.ok());
    return pod->gang_words == nullptr ? std::string() : pod->gang_words->unheeded;
  };
  std::vector<DialectField> rows(MusterWords().begin(), MusterWords().end());
  for (const Dialect& dialect : DialectsOfKeys())
    rows.insert(rows.end(), dialect.fields.begin(), dialect.fields.end());
  int checked = 0;
  for (const DialectField& row : rows) {
    if (row.place == Place::kEither) continue;
    INFO(row.path);
    ++checked;
    const std::string set = "\"" + std::string(row.path) + R"(":"x")";
    const bool label = row.place == Place::kLabel;
    CHECK_THAT(
        label ? words("", set) : words(set, ""),
        Catch::Contains(std::string(row.path) + (label ? ": as an annotation it does not count"
                                                       : ": as a label it does not count")));
    // Beside one that counts nothing is to be said.
    CHECK_THAT(words(set, set), !Catch::Contains("does not count"));
  }
  CHECK(checked > 40);
  CHECK(words("", R"("scheduling.x-k8s.io/pod-group":"g")") ==
        "scheduling.x-k8s.io/pod-group: as an annotation it does not count; write it as a label");
  const std::string size = R"("muster.dev/min-member":"4")";
  CHECK(words(size + R"(,"scheduling.x-k8s.io/pod-group":"g")", "") ==
        "muster.dev/min-member: as a label it does not count where the pod names its gang; write "
        "it as an annotation");
  CHECK(words(size, "").empty());
}

TEST_CASE("Koordinator's quota is the queue, and says what may not be preempted",
          "[kube][dialects]") {
  const auto pod = [](const char* key, const char* value) {
    const auto read = DecodePod("{" + Metadata("labels", key, value) + R"(,"spec":{}})");
    REQUIRE(read.ok());
    return *read;
  };
  CHECK(pod("quota.scheduling.koordinator.sh/name", "research").asked_queue == "research");
  CHECK(pod("quota.scheduling.koordinator.sh/preemptible", "false").preemptible == false);
  CHECK_FALSE(pod("quota.scheduling.koordinator.sh/preemptible", "true").preemptible);
  CHECK(pod("scheduling.koordinator.sh/disable-preemptible", "true").preemptible == false);
}

}  // namespace
}  // namespace muster::kube
