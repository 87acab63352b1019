#include "engine/standing/write_tracker.hpp"

#include <catch2/catch.hpp>
#include <variant>

namespace muster::engine {
namespace {

Member MakeMember(const std::string& name) {
  Member member;
  member.uid = cluster::PodUid("uid-" + name);
  member.key = {"default", name};
  return member;
}

using Answers = std::vector<std::pair<uint64_t, std::string>>;

// All that left is answers to Bind calls.
Answers TakeAnswers(WriteTracker& writes) {
  Answers answers;
  for (const Action& action : writes.Take()) {
    const auto& answer = std::get<AnswerBind>(action);
    answers.emplace_back(answer.ticket, answer.error);
  }
  return answers;
}

TEST_CASE("an outcome belongs to the pod of its action, once", "[engine][writes]") {
  WriteTracker writes;
  Member a = MakeMember("a");
  Member b = MakeMember("b");
  writes.Begin(a, WriteKind::kBind);
  writes.Begin(b, WriteKind::kEvict);
  CHECK(a.writes->doing == WriteKind::kBind);
  CHECK(a.writes->action.value != b.writes->action.value);
  CHECK(writes.End(b.writes->action) == b.uid);
  CHECK(writes.End(b.writes->action) == std::nullopt);
  CHECK(writes.End(a.writes->action) == a.uid);
}

TEST_CASE("what comes of an action is remembered as long as it matters", "[engine][writes]") {
  WriteTracker writes;
  Member a = MakeMember("a");
  const auto outcome = [&](WriteKind doing, OutcomeKind kind) {
    writes.Begin(a, doing);
    writes.End(a.writes->action);
    CHECK(writes.Finish(a, kind) == doing);
    CHECK_FALSE(a.busy());
  };
  outcome(WriteKind::kBind, OutcomeKind::kRetry);
  CHECK(a.may_be_bound());
  outcome(WriteKind::kBind, OutcomeKind::kRefused);
  CHECK_FALSE(a.may_be_bound());
  CHECK(writes.CountRefusal(a) == 1);
  CHECK(writes.CountRefusal(a) == 2);
  outcome(WriteKind::kNominate, OutcomeKind::kDone);
  CHECK(writes.CountRefusal(a) == 1);  // in a row
  writes.MarkNeedsWake(a);
  outcome(WriteKind::kWake, OutcomeKind::kRetry);
  CHECK(a.writes->needs_wake);
  outcome(WriteKind::kWake, OutcomeKind::kDone);
  CHECK_FALSE(a.writes->needs_wake);
  outcome(WriteKind::kEvict, OutcomeKind::kConflict);
  CHECK_FALSE(a.writes->evicting);
  outcome(WriteKind::kEvict, OutcomeKind::kDone);
  CHECK(a.writes->evicting);
}

TEST_CASE("the outcome of a pod that left is nobody's", "[engine][writes]") {
  WriteTracker writes;
  Member a = MakeMember("a");
  writes.Begin(a, WriteKind::kBind);
  writes.Hold(a, 7, cluster::Time(100));
  writes.Forget(a, "the pod is gone");
  CHECK(writes.End(a.writes->action) == std::nullopt);
  CHECK(writes.held_binds() == 0);
  CHECK(TakeAnswers(writes) == Answers{{7, "the pod is gone"}});
}

TEST_CASE("each held Bind call has one answer, in order", "[engine][writes]") {
  WriteTracker writes;
  Member a = MakeMember("a");
  writes.Hold(a, 1, cluster::Time(100));
  writes.Hold(a, 2, cluster::Time(200));
  CHECK(writes.held_binds() == 2);
  writes.Answer(a, "");
  writes.Answer(a, "again");
  CHECK(a.writes->held.empty());
  CHECK(writes.held_binds() == 0);
  CHECK(writes.has_actions());
  CHECK(TakeAnswers(writes) == Answers{{1, ""}, {2, ""}});
  CHECK_FALSE(writes.has_actions());
}

TEST_CASE("the audit sees what is out of step with the members", "[engine][writes]") {
  WriteTracker writes;
  Member a = MakeMember("a");
  Member b = MakeMember("b");
  writes.Begin(a, WriteKind::kBind);
  writes.Hold(b, 1, cluster::Time(100));
  CHECK(writes.Audit({&a, &b}).empty());
  SECTION("a member that left and was not forgotten") {
    CHECK(writes.Audit({&b}) ==
          std::vector<std::string>{"actions of pods that left are remembered"});
  }
  SECTION("an action that ended, of which the member was not told") {
    writes.End(a.writes->action);
    CHECK(writes.Audit({&a, &b}) ==
          std::vector<std::string>{"pod default/a waits for an outcome that belongs to no pod",
                                   "actions of pods that left are remembered"});
  }
  SECTION("a call that was dropped without an answer") {
    const Member forgetful = MakeMember("b");
    CHECK(writes.Audit({&a, &forgetful}) ==
          std::vector<std::string>{"held Bind calls are miscounted"});
  }
}

}  // namespace
}  // namespace muster::engine
