#include "kube/write/pod_writer.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <type_traits>
#include <utility>

#include "kube/api/at_a_time.hpp"
#include "kube/api/http_status.hpp"
#include "kube/decode/decode.hpp"
#include "kube/decode/object_meta.hpp"
#include "kube/write/budget_check.hpp"

namespace muster::kube {

using cluster::MutexLock;
using cluster::Result;
using engine::Outcome;
using engine::OutcomeKind;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kLongestSleep{1'000};
constexpr int kEvictionSetsAtATime = 2;  // in one namespace
constexpr int kDryRunsAtATime = 16;      // and looks at pods, of one set

std::optional<PodWrite> AsPodWrite(const engine::Action& action) {
  return std::visit(
      [](const auto& one) -> std::optional<PodWrite> {
        using T = std::decay_t<decltype(one)>;
        if constexpr (std::is_constructible_v<PodWrite, T>) {
          return PodWrite(one);
        } else {
          return std::nullopt;
        }
      },
      action);
}

}  // namespace

void PodVersions::Note(const cluster::PodUid& uid, int64_t version) {
  if (version <= 0) return;
  const MutexLock lock(mu_);
  int64_t& known = versions_[uid];
  known = std::max(known, version);
}

void PodVersions::Renew(const cluster::PodUid& uid, int64_t version) {
  const MutexLock lock(mu_);
  const auto known = versions_.find(uid);
  if (known != versions_.end()) known->second = std::max(known->second, version);
}

size_t PodVersions::size() const {
  const MutexLock lock(mu_);
  return versions_.size();
}

void PodVersions::Forget(const cluster::PodUid& uid) {
  const MutexLock lock(mu_);
  versions_.erase(uid);
}

int64_t PodVersions::Find(const cluster::PodUid& uid) const {
  const MutexLock lock(mu_);
  const auto found = versions_.find(uid);
  return found == versions_.end() ? 0 : found->second;
}

PodWriter::PodWriter(Ports ports, PodWriterOptions options, uint64_t seed)
    : ports_(std::move(ports)), options_(options), nonce_(seed), random_(seed) {}

PodWriter::~PodWriter() { Stop(); }

void PodWriter::Start() {
  for (int i = 0; i < options_.workers; ++i) threads_.emplace_back([this] { Work(); });
}

void PodWriter::Stop() {
  {
    const MutexLock lock(mu_);
    stopping_ = true;
    changed_.NotifyAll();
    stopped_.NotifyAll();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void PodWriter::Perform(const std::vector<engine::Action>& actions) {
  std::map<cluster::ObjectKey, EvictionSet> evictions;  // by gang
  for (const engine::Action& action : actions) {
    if (const auto* status = std::get_if<engine::PatchGang>(&action)) {
      ports_.gang_status(*status);
    } else if (const auto* event = std::get_if<engine::EmitEvent>(&action)) {
      ports_.event(*event);
    } else if (const auto* evict = std::get_if<engine::EvictPod>(&action)) {
      evictions[evict->gang].pods.push_back(*evict);
    } else if (std::optional<PodWrite> write = AsPodWrite(action)) {
      Enqueue(*std::move(write));
    }
  }
  const MutexLock lock(mu_);
  for (auto& [gang, set] : evictions) {
    const std::string key = std::to_string(++nonce_);
    lines_[kEvictionSets].Put(set.pods.front().pod.key.ns, key, Clock::now());
    eviction_sets_.emplace(key, std::move(set));
    changed_.NotifyOne();
  }
}

void PodWriter::Enqueue(PodWrite write) {
  const std::string uid = PodOf(write).uid.text();
  const MutexLock lock(mu_);
  std::deque<Job>& jobs = jobs_[uid];
  jobs.push_back({std::move(write)});
  if (jobs.size() == 1) ReadyLocked(uid, Clock::now());
}

void PodWriter::ReadyLocked(const std::string& uid, Clock::time_point due) {
  const PodWrite& write = jobs_.at(uid).front().write;
  const size_t line = std::holds_alternative<engine::BindPod>(write) ? kBindings : kWrites;
  lines_[line].Put(PodOf(write).key.ns, uid, due);
  changed_.NotifyOne();
}

std::optional<PodWriter::Turn> PodWriter::TakeLocked(Clock::time_point now) {
  const int share = std::max(1, options_.workers / 4);
  const int bindings_only = options_.workers > 1 ? std::max(1, options_.workers / 8) : 0;
  const int others = lines_[kEvictionSets].taken() + lines_[kWrites].taken();
  const int free = options_.workers - lines_[kBindings].taken() - others;
  for (const size_t line : {kBindings, kEvictionSets, kWrites}) {
    const int left =
        line == kBindings ? free : std::min(free, options_.workers - bindings_only - others);
    if (left <= 0) continue;
    const int most = line == kEvictionSets ? kEvictionSetsAtATime : share;
    auto turn = lines_[line].Take(now, most);
    // Beyond its share while a share is left for the next caller.
    if (!turn && line != kEvictionSets && left > share) {
      turn = lines_[line].Take(now, options_.workers);
    }
    if (turn) return Turn{line, std::move(turn->ns), std::move(turn->key)};
  }
  return std::nullopt;
}

std::optional<PodWriter::Turn> PodWriter::NextTurn() {
  const MutexLock lock(mu_);
  while (!stopping_) {
    const Clock::time_point now = Clock::now();
    if (std::optional<Turn> turn = TakeLocked(now)) return turn;
    // What is due and was not taken is for the thread that is done next.
    std::optional<Clock::time_point> next;
    for (const auto& line : lines_) {
      const std::optional<Clock::time_point> first = line.NextAfter(now);
      if (first && (!next || *first < *next)) next = first;
    }
    if (!next) {
      changed_.Wait(mu_);
      continue;
    }
    const auto left = std::chrono::ceil<milliseconds>(*next - Clock::now());
    changed_.WaitFor(mu_, std::clamp(left, milliseconds(1), kLongestSleep));
  }
  return std::nullopt;
}

void PodWriter::Work() {
  while (const std::optional<Turn> turn = NextTurn()) {
    if (turn->line == kEvictionSets) {
      RunEvictionSet(turn->key);
    } else {
      RunFirstJob(turn->key);
    }
    const MutexLock lock(mu_);
    lines_[turn->line].Done(turn->ns);
  }
}

void PodWriter::RunFirstJob(const std::string& uid) {
  std::optional<Job> job;
  {
    const MutexLock lock(mu_);
    job = jobs_.at(uid).front();
  }
  milliseconds wait{0};
  const std::optional<Outcome> outcome = Attempt(*job, wait);
  {
    const MutexLock lock(mu_);
    std::deque<Job>& jobs = jobs_.at(uid);
    if (!outcome) {
      ++jobs.front().attempt;
      ReadyLocked(uid, Clock::now() + wait);
      return;
    }
    jobs.pop_front();
    if (jobs.empty()) {
      jobs_.erase(uid);
    } else {
      ReadyLocked(uid, Clock::now());
    }
  }
  ports_.report(*outcome);
}

std::optional<Outcome> PodWriter::Attempt(const Job& job, milliseconds& wait) {
  const engine::ActionId id = IdOf(job.write);
  if (!ports_.may_write()) return Outcome{id, OutcomeKind::kRetry, "not the leader", true};
  WriteContext context;
  context.resource_version = ports_.versions.Find(PodOf(job.write).uid);
  context.epoch = ports_.epoch();
  context.now = ports_.clock().wall.milliseconds() / 1000;
  {
    const MutexLock lock(mu_);
    context.nonce = ++nonce_;
  }
  ApiRequest request = RequestOf(job.write, context);
  request.permit = ports_.may_write;
  Result<ApiReply> answer = ports_.api.Call(request);
  const auto* evict = std::get_if<engine::EvictPod>(&job.write);
  const bool budget = evict != nullptr && answer.ok() && RefusedByBudget(*answer);
  if (budget && evict->over_budgets) answer = DeleteInstead(*evict, context);
  if (!answer.ok() && answer.error().code == cluster::Code::kForbidden) {
    return Outcome{id, OutcomeKind::kRetry, "not the leader", true};
  }
  if (answer.ok() && answer->ok()) {
    // What a patch answers is the pod's metadata as it is now; a Binding and an eviction answer a
    // Status.
    if (const Result<ObjectMeta> meta = DecodeObjectMeta(answer->body); meta.ok()) {
      ports_.versions.Renew(cluster::PodUid(meta->uid), meta->resource_version);
    }
    return Outcome{id, OutcomeKind::kDone, {}};
  }
  Verdict verdict = JudgeAnswer(job.write, answer);
  const bool conflict = verdict.kind == OutcomeKind::kConflict;
  if (verdict.standing == Standing::kLook) verdict = LookAndJudge(job.write, verdict);
  // Which evictions are tried again, and when, is for the engine: others may be evicted instead.
  const bool busy = answer.ok() && answer->status == kHttpTooManyRequests;
  const bool eviction = evict != nullptr;
  const bool failed = eviction && verdict.kind == OutcomeKind::kRetry && !busy;
  if (verdict.standing == Standing::kSettled || failed || job.attempt + 1 >= options_.attempts) {
    if (verdict.kind == OutcomeKind::kRefused) {
      ports_.warn("the API server refuses to " + Describe(job.write) + ": " + verdict.message);
    }
    return Outcome{id, verdict.kind, std::move(verdict.message), eviction && busy};
  }
  // The version was old and is known now: at once.
  if (!conflict) wait = BackOff(job.attempt);
  if (answer.ok() && answer->retry_after) wait = std::max(wait, *answer->retry_after);
  return std::nullopt;
}

Result<ApiReply> PodWriter::DeleteInstead(const engine::EvictPod& evict,
                                          const WriteContext& context) {
  // Without the condition a Job counts the deletion as a failure: then the pod goes all the same.
  ApiRequest target = DisruptionTargetOf(evict, context);
  target.permit = ports_.may_write;
  const Result<ApiReply> marked = ports_.api.Call(target);
  if (marked.ok() && !marked->ok() && marked->status != kHttpNotFound)
    ports_.warn("condition DisruptionTarget of " + evict.pod.key.ToString() +
                " cannot be written: HTTP " + std::to_string(marked->status));
  ApiRequest deletion = DeletionOf(evict, context);
  deletion.permit = ports_.may_write;
  return ports_.api.Call(deletion);
}

Verdict PodWriter::LookAndJudge(const PodWrite& write, const Verdict& answer) {
  if (!ports_.may_write()) return {Standing::kLater, OutcomeKind::kRetry, "not the leader"};
  const Result<ApiReply> reply = ports_.api.Call(GetPod(PodOf(write)));
  if (!reply.ok()) return {Standing::kLater, OutcomeKind::kRetry, reply.error().ToString()};
  if (reply->status == kHttpNotFound) return JudgePod(write, std::nullopt, answer);
  if (!reply->ok()) {
    return {Standing::kLater, OutcomeKind::kRetry, "HTTP " + std::to_string(reply->status)};
  }
  const std::optional<cluster::Pod> pod = ReadPodFrom(reply->body);
  if (!pod) return {Standing::kLater, OutcomeKind::kRetry, "the pod cannot be read"};
  ports_.versions.Renew(pod->uid, pod->resource_version);
  return JudgePod(write, pod, answer);
}

std::optional<cluster::Pod> PodWriter::ReadPodFrom(const std::string& body) {
  Result<cluster::Pod> pod = DecodePod(body);
  if (!pod.ok()) return std::nullopt;
  return *std::move(pod);
}

milliseconds PodWriter::BackOff(int attempt) {
  const milliseconds most =
      std::min(options_.backoff_first * (1 << std::min(attempt, 10)), options_.backoff_max);
  const MutexLock lock(mu_);
  return milliseconds(
      std::uniform_int_distribution<int64_t>(most.count() / 2, most.count())(random_));
}

void PodWriter::RunEvictionSet(const std::string& key) {
  EvictionSet set;
  {
    const MutexLock lock(mu_);
    set = std::move(eviction_sets_.at(key));
    eviction_sets_.erase(key);
  }
  RunEvictions(set);
}

// All of them dry, and only if the API server would take them all are they meant. Who may not go is
// told apart from those that stay with it.
void PodWriter::RunEvictions(const EvictionSet& set) {
  std::optional<Outcome> obstacle = AskBudgets(set);
  if (!obstacle) obstacle = DryRunAll(set);
  if (!obstacle) {
    for (const engine::EvictPod& pod : set.pods) Enqueue(pod);
    return;
  }
  ports_.warn(obstacle->message);
  for (const engine::EvictPod& pod : set.pods) {
    const bool it = pod.id == obstacle->id;
    ports_.report(it ? *obstacle : Outcome{pod.id, OutcomeKind::kRetry, obstacle->message, true});
  }
}

std::optional<Outcome> PodWriter::DryRunAll(const EvictionSet& set) {
  std::vector<std::optional<Outcome>> obstacles(set.pods.size());
  std::atomic<bool> found{false};
  DoAtATime(set.pods.size(), kDryRunsAtATime, [&](size_t i) {
    if (found) return;
    obstacles[i] = DryRun(set.pods[i]);
    if (obstacles[i]) found = true;
  });
  for (std::optional<Outcome>& obstacle : obstacles) {
    if (obstacle) return std::move(obstacle);
  }
  return std::nullopt;
}

std::optional<Outcome> PodWriter::DryRun(const engine::EvictPod& pod) {
  bool deletes = false;  // a budget refuses its eviction
  for (int attempt = 1;; ++attempt) {
    if (!ports_.may_write()) return Outcome{pod.id, OutcomeKind::kRetry, "not the leader", true};
    const WriteContext dry{.dry_run = true};
    const Result<ApiReply> answer =
        ports_.api.Call(deletes ? DeletionOf(pod, dry) : RequestOf(pod, dry));
    if (answer.ok() && (answer->ok() || answer->status == kHttpNotFound)) return std::nullopt;
    if (pod.over_budgets && !deletes && answer.ok() && RefusedByBudget(*answer)) {
      deletes = true;
      attempt = 0;
      continue;
    }
    const Verdict verdict = JudgeAnswer(pod, answer);
    // An API server that has just started refuses everybody; a webhook goes on refusing.
    const bool passes = verdict.standing == Standing::kLater &&
                        verdict.kind == OutcomeKind::kRefused && attempt < options_.attempts;
    if (passes && Pause(BackOff(attempt - 1))) continue;
    // Too many requests say when to come back; a disruption budget does not.
    const bool many = answer.ok() && answer->status == kHttpTooManyRequests;
    const bool budget =
        answer.ok() && (deletes ? LacksDeletion(*answer) : many && !answer->retry_after);
    return Outcome{
        pod.id, budget ? OutcomeKind::kConflict : verdict.kind,
        (deletes ? "a PodDisruptionBudget does not let it go, and deleting " : "evicting ") +
            pod.pod.key.ToString() +
            (verdict.kind == OutcomeKind::kRetry && !budget ? " failed" : " is refused") +
            ", so none is evicted: " + verdict.message,
        many && !budget};
  }
}

bool PodWriter::Pause(milliseconds time) {
  const auto until = Clock::now() + time;
  const MutexLock lock(mu_);
  while (!stopping_) {
    const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
    if (left.count() <= 0) return true;
    stopped_.WaitFor(mu_, left);
  }
  return false;
}

std::optional<Outcome> PodWriter::AskBudgets(const EvictionSet& set) {
  if (!ports_.may_write()) return std::nullopt;  // nothing will be written
  std::vector<engine::PodRef> pods;
  pods.reserve(set.pods.size());
  for (const engine::EvictPod& pod : set.pods) {
    if (!pod.over_budgets) pods.push_back(pod.pod);
  }
  const std::optional<BudgetObstacle> found =
      FindBudgetObstacle(ports_.api, pods, ports_.may_write, kDryRunsAtATime);
  if (!found) return std::nullopt;
  const auto at = std::find_if(set.pods.begin(), set.pods.end(),
                               [&](const auto& pod) { return pod.pod.uid == found->pod; });
  return Outcome{at->id, OutcomeKind::kConflict, found->message + ", so none is evicted"};
}

}  // namespace muster::kube
