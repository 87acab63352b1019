#include "engine/gangs/run_history.hpp"

#include <algorithm>
#include <tuple>

namespace muster::engine {

using cluster::Duration;

namespace {

constexpr std::string_view kDigits = "0123456789";
// The characters of random names of Kubernetes (k8s.io/apimachinery/pkg/util/rand).
constexpr std::string_view kRandom = "bcdfghjklmnpqrstvwxz2456789";
constexpr size_t kRandomLength = 5;

bool Appended(std::string_view part) {
  const auto of = [&](std::string_view letters) {
    return part.find_first_not_of(letters) == std::string_view::npos;
  };
  return !part.empty() && (of(kDigits) || (part.size() == kRandomLength && of(kRandom)));
}

// What its pods ask for; their specs' numbers are not given again when a template's next pods come.
std::string TemplateOf(const Gang& gang) {
  std::map<std::tuple<int64_t, int64_t, int64_t, int64_t>, int64_t> pods;
  for (const auto& [uid, member] : gang.members) {
    const cluster::PodSpec& spec = *member.pod->spec;
    ++pods[{spec.gpus.count, spec.gpus.total().value(), spec.requests.cpu.value(),
            spec.requests.memory.value()}];
  }
  std::string text = gang.id.key.ns + "/" + TemplateName(gang.id.key.name);
  for (const auto& [asks, count] : pods) {
    const auto& [gpus, milli, cpu, memory] = asks;
    text += " " + std::to_string(count) + "*" + std::to_string(gpus) + ":" + std::to_string(milli) +
            ":" + std::to_string(cpu) + ":" + std::to_string(memory);
  }
  return text;
}

}  // namespace

std::string TemplateName(std::string_view name) {
  while (true) {
    const size_t dash = name.rfind('-');
    if (dash == std::string_view::npos || dash == 0 || !Appended(name.substr(dash + 1)))
      return std::string(name);
    name = name.substr(0, dash);
  }
}

void RunHistory::Ran(const Gang& gang, Duration duration) {
  if (duration <= Duration(0)) return;
  const std::string of = TemplateOf(gang);
  Runs& runs = runs_[of];
  turns_.erase(runs.turn);
  runs = {duration, runs.last, ++turn_};
  turns_[turn_] = of;
  if (runs_.size() <= kMostTemplates) return;
  runs_.erase(turns_.begin()->second);
  turns_.erase(turns_.begin());
}

Duration RunHistory::MeanOf(const Gang& gang) const {
  if (runs_.empty() || gang.members.empty()) return Duration(0);
  const auto found = runs_.find(TemplateOf(gang));
  if (found == runs_.end()) return Duration(0);
  const Runs& runs = found->second;
  if (runs.before == Duration(0)) return runs.last;
  return Duration((runs.last + runs.before).value() / 2);
}

LearntRuns RunHistory::All() const {
  LearntRuns learnt;
  for (const auto& [turn, of] : turns_) {
    const Runs& runs = runs_.at(of);
    learnt.runs.push_back({of, runs.last, runs.before});
  }
  return learnt;
}

void RunHistory::Adopt(const LearntRuns& learnt) {
  runs_.clear();
  turns_.clear();
  for (const LearntRun& one : learnt.runs) {
    runs_[one.of] = {one.last, one.before, ++turn_};
    turns_[turn_] = one.of;
  }
}

}  // namespace muster::engine
