#include "extender/embedded/embedded_cluster.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "sim/api_server/informer.hpp"

namespace muster::extender {
namespace {

using cluster::MutexLock;
using cluster::Time;

// Events run in a row before the mail is looked at again.
constexpr int64_t kEventsInARow = 256;
constexpr int64_t kLongestSleepMs = 1000;

}  // namespace

EmbeddedCluster::EmbeddedCluster(Options options)
    : options_(std::move(options)),
      loop_(options_.now()),
      api_(loop_, options_.api),
      facts_(options_.grouping, options_.warn) {
  // Muster receives an event before kube-scheduler does: the first watcher is notified first.
  actions_ = std::make_unique<sim::ApiActions>(loop_, api_, sim::WriteFaults(), options_.api.seed,
                                               options_.report);
  informer_ = std::make_unique<sim::Informer>(
      loop_, api_, FactReader::kWatched, sim::WatchFaults(), options_.api.seed,
      [this](const sim::WatchEvent& event) { options_.apply(facts_.Read(event)); }, [] {});
  extender_ = options_.extender([this](Task task) { Post(std::move(task)); });
  scheduler_ =
      std::make_unique<sim::KubeScheduler>(loop_, api_, extender_.get(), options_.scheduler);
  kubelet_ = std::make_unique<sim::Kubelet>(loop_, api_, options_.kubelet);
  jobs_ = std::make_unique<sim::JobController>(loop_, api_);
}

EmbeddedCluster::~EmbeddedCluster() { Stop(); }

void EmbeddedCluster::Start() {
  thread_ = std::thread([this] { Run(); });
}

void EmbeddedCluster::Stop() {
  {
    const MutexLock lock(mu_);
    stopping_ = true;
    mail_came_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
  const MutexLock lock(mu_);
  stopped_ = true;
  mail_.clear();
  mail_done_.NotifyAll();
}

void EmbeddedCluster::SetGrouping(const kube::GroupingSettings& settings) {
  Post([this, settings] { options_.apply(facts_.SetGrouping(settings)); });
}

void EmbeddedCluster::Perform(const std::vector<engine::Action>& actions) {
  Post([this, actions] { actions_->Perform(actions); });
}

bool EmbeddedCluster::Do(const std::function<void(sim::ApiServer&)>& task) {
  // Shared with the thread: when the cluster stops first, the task in the mail is dropped unrun.
  const auto done = std::make_shared<bool>(false);
  Post([this, &task, done] {
    task(api_);
    const MutexLock lock(mu_);
    *done = true;
    mail_done_.NotifyAll();
  });
  const MutexLock lock(mu_);
  while (!*done && !stopped_) mail_done_.Wait(mu_);
  return *done;
}

void EmbeddedCluster::Post(Task task) {
  const MutexLock lock(mu_);
  if (stopping_) return;
  mail_.push_back(std::move(task));
  mail_came_.NotifyOne();
}

void EmbeddedCluster::Run() {
  while (true) {
    {
      const MutexLock lock(mu_);
      if (stopping_) return;
    }
    const bool had_mail = RunMail();
    const bool all_due_ran = loop_.RunDue(options_.now(), kEventsInARow);
    if (!had_mail && all_due_ran) Sleep();
  }
}

bool EmbeddedCluster::RunMail() {
  std::deque<Task> mail;
  {
    const MutexLock lock(mu_);
    mail.swap(mail_);
  }
  if (mail.empty()) return false;
  // What is written now carries the present time.
  loop_.RunDue(options_.now(), kEventsInARow);
  for (const Task& task : mail) task();
  return true;
}

void EmbeddedCluster::Sleep() {
  const Time due = loop_.NextDue();
  const MutexLock lock(mu_);
  if (!mail_.empty() || stopping_) return;
  int64_t left = kLongestSleepMs;
  if (due != Time::Never()) left = std::min(left, (due - options_.now()).value());
  if (left > 0) mail_came_.WaitFor(mu_, std::chrono::milliseconds(left));
}

}  // namespace muster::extender
