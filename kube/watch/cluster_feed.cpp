#include "kube/watch/cluster_feed.hpp"

#include <algorithm>
#include <utility>

#include "kube/owners/owner_reader.hpp"
#include "kube/watch/storage_kinds.hpp"

namespace muster::kube {

using cluster::FairMutexLock;
using cluster::MutexLock;
using cluster::Result;
using std::chrono::milliseconds;

namespace {

// What every API server serves.
std::vector<Resource> Always() {
  return {NodeResource(), PodResource(), NamespaceResource(), PriorityClassResource(),
          DisruptionBudgetResource()};
}

// Who does not know it of now gives out twice what the leader before gave out last.
bool TellsWhatIsFree(const std::string& path) {
  return path == NodeResource().path || path == PodResource().path;
}

Resource ResourceOf(const ServedKind& served) {
  switch (served.kind) {
    case OptionalKind::kProvisioningRequests:
      return ProvisioningRequestResource(served.api_version);
    case OptionalKind::kComputeDomains:
      return ComputeDomainResource(served.api_version);
    case OptionalKind::kResourceSlices:
      return ResourceSliceResource(served.api_version);
    case OptionalKind::kNodeResourceTopologies:
      break;
  }
  return NodeTopologyResource(served.api_version);
}

// The pod that the news are of, or null.
const cluster::Pod* PodOf(const News& news) {
  if (const auto* claiming = std::get_if<PodOfClaims>(&news)) return &claiming->pod;
  if (const auto* owned = std::get_if<PodOfOwners>(&news)) return &owned->pod;
  const auto* fact = std::get_if<engine::Fact>(&news);
  return fact == nullptr ? nullptr : std::get_if<cluster::Pod>(fact);
}

// Reads of owners at a time.
constexpr int kOwnerThreads = 4;

// As many facts are told together: the engine's lock is held meanwhile. Each costs some ten
// microseconds.
constexpr size_t kFactsTogether = 256;

}  // namespace

ClusterFeed::ClusterFeed(Ports ports, ClusterFeedOptions options, uint64_t seed)
    : ports_(std::move(ports)), options_(options), seed_(seed), joiner_(ports_.versions) {}

ClusterFeed::~ClusterFeed() { Stop(); }

void ClusterFeed::Start() {
  for (int i = 0; i < kOwnerThreads; ++i) {
    owner_threads_.push_back(
        std::make_unique<StepThread>([this](const Clocks&) { return ReadOwners(); }));
  }
  {
    const MutexLock lock(mu_);
    const auto apply = [this](const News& news) { Apply(news); };
    for (Resource& resource : Always()) Read(std::move(resource), apply, nullptr, ports_.warn);
    ReadIfAllowed(BatchJobResource(), nullptr);
    ReadIfAllowed(ResourceQuotaResource(), nullptr);
    for (const StorageKindNames& names : StorageKinds()) {
      Resource resource = StorageResource(names.kind);
      const std::string path = resource.path;
      ReadIfAllowed(std::move(resource), nullptr);
      readers_.at(path).awaited = true;
    }
  }
  discovery_ = std::thread([this] { Discover(); });
  ages_ = std::make_unique<StepThread>([this](const Clocks& now) { return LookAtAges(now); });
}

void ClusterFeed::Quit() {
  const MutexLock lock(mu_);
  stopping_ = true;
  stopped_.NotifyAll();
  for (auto& [path, reader] : readers_) reader.reflector->Stop();
}

void ClusterFeed::Stop() {
  std::map<std::string, Reader> readers;
  Quit();
  if (discovery_.joinable()) discovery_.join();
  if (ages_) ages_->Stop();
  for (const auto& thread : owner_threads_) thread->Stop();
  {
    const MutexLock lock(mu_);
    readers.swap(readers_);
  }
  for (auto& [path, reader] : readers) reader.thread.join();
}

std::vector<FeedHealth> ClusterFeed::Health() const {
  std::vector<FeedHealth> health;
  const MutexLock lock(mu_);
  for (const auto& [path, reader] : readers_) {
    const Reflector& reflector = *reader.reflector;
    health.push_back({reflector.resource().name, reflector.synced(), reflector.lists(),
                      reflector.age(), reader.needed});
  }
  std::sort(health.begin(), health.end(),
            [](const FeedHealth& a, const FeedHealth& b) { return a.resource < b.resource; });
  return health;
}

void ClusterFeed::Discover() {
  milliseconds pause = options_.discover_again;
  do {
    const Result<Discovery> found = DiscoverKinds(ports_.api);
    if (!found.ok()) {
      ports_.warn("PodGroups cannot be discovered, it is tried again: " + found.error().ToString());
      continue;
    }
    for (const Discovery::Unknown& unknown : found->unknown) {
      ports_.warn("not known whether " + unknown.what + " are served: " + unknown.why.ToString());
    }
    for (const ServedPodGroups& served : found->podgroups) ReadPodGroups(served);
    for (const ServedKind& served : found->others) ReadOptional(served);
    bool started = false;
    {
      const MutexLock lock(mu_);
      discovered_ = true;
      started = said_synced_;
    }
    if (started) SettleParts();
    pause = options_.rediscover;
    OneSynced();
  } while (Sleep(pause));
}

bool ClusterFeed::Sleep(milliseconds time) {
  const auto until = std::chrono::steady_clock::now() + time;
  const MutexLock lock(mu_);
  while (!stopping_) {
    const auto left =
        std::chrono::duration_cast<milliseconds>(until - std::chrono::steady_clock::now());
    if (left.count() <= 0) return true;
    stopped_.WaitFor(mu_, left);
  }
  return false;
}

void ClusterFeed::Read(Resource resource, std::function<void(const News&)> apply, Reflector* before,
                       std::function<void(const std::string&)> warn) {
  std::string path = resource.path;
  Reader reader;
  reader.reflector = std::make_shared<Reflector>(std::move(resource),
                                                 Reflector::Ports{.api = ports_.api,
                                                                  .apply = std::move(apply),
                                                                  .synced = [this] { OneSynced(); },
                                                                  .warn = std::move(warn)},
                                                 options_.reflector, seed_++);
  Reflector& reflector = *reader.reflector;
  if (before != nullptr) reflector.Succeed(*before);
  reader.thread = std::thread([&reflector] { reflector.Run(); });
  readers_.emplace(std::move(path), std::move(reader));
}

// Tried for ever, for rights are given later, too; but said once.
void ClusterFeed::ReadIfAllowed(Resource resource, Reflector* before) {
  const std::string path = resource.path;
  const auto last = std::make_shared<std::string>();  // of the reflector's thread
  Read(
      std::move(resource), [this](const News& news) { Apply(news); }, before,
      [this, path, last](const std::string& what) {
        if (std::exchange(*last, what) != what) ports_.warn(what);
        NotAwaited(path);
      });
  readers_.at(path).needed = false;
}

void ClusterFeed::NotAwaited(const std::string& path) {
  {
    const MutexLock lock(mu_);
    const auto reader = readers_.find(path);
    if (reader == readers_.end() || !std::exchange(reader->second.awaited, false)) return;
  }
  OneSynced();
}

// Two versions of one kind show the same objects: the one that is served now is read alone, and
// what the other one showed and this one does not is gone.
void ClusterFeed::ReadPodGroups(const ServedPodGroups& served) {
  Resource resource = PodGroupResource(served.api_version());
  const std::string path = resource.path;
  {
    const FairMutexLock lock(facts_mu_);
    served_.insert_or_assign(served.flavour, served);
  }
  std::optional<Reader> other = GiveUpOther(resource);
  if (other) other->thread.join();
  const MutexLock lock(mu_);
  if (stopping_ || readers_.contains(path)) return;
  Read(
      std::move(resource),
      [this, flavour = served.flavour](const News& news) {
        ApplyPodGroup(flavour, std::get<engine::Fact>(news));
      },
      other ? other->reflector.get() : nullptr, ports_.warn);
  readers_.at(path).flavour = served.flavour;
}

void ClusterFeed::ReadOptional(const ServedKind& served) {
  Resource resource = ResourceOf(served);
  const std::string path = resource.path;
  std::optional<Reader> other = GiveUpOther(resource);
  if (other) other->thread.join();
  const MutexLock lock(mu_);
  if (stopping_ || readers_.contains(path)) return;
  ReadIfAllowed(std::move(resource), other ? other->reflector.get() : nullptr);
  readers_.at(path).awaited = !said_synced_;
}

void ClusterFeed::SettleParts() {
  const FairMutexLock lock(facts_mu_);
  joiner_.Settle();
}

void ClusterFeed::ReadNodesAgain() {
  const MutexLock lock(mu_);
  const auto nodes = readers_.find(NodeResource().path);
  if (nodes != readers_.end()) nodes->second.reflector->Refresh();
}

std::optional<ClusterFeed::Reader> ClusterFeed::GiveUpOther(const Resource& resource) {
  const MutexLock lock(mu_);
  const auto other = std::find_if(readers_.begin(), readers_.end(), [&](const auto& reader) {
    return reader.first != resource.path &&
           reader.second.reflector->resource().name == resource.name;
  });
  if (other == readers_.end() || stopping_) return std::nullopt;
  discovered_ = false;  // until the new one is there, nothing is whole
  other->second.reflector->Stop();
  Reader reader = std::move(other->second);
  readers_.erase(other);
  return reader;
}

void ClusterFeed::ApplyPodGroup(PodGroupFlavour flavour, const engine::Fact& fact) {
  if (const auto* group = std::get_if<cluster::PodGroup>(&fact)) {
    const FairMutexLock lock(facts_mu_);
    flavour_of_[group->uid] = flavour;
  } else if (const auto* gone = std::get_if<engine::PodGroupRemoved>(&fact)) {
    const FairMutexLock lock(facts_mu_);
    flavour_of_.erase(gone->uid);
  } else if (const auto* unserved = std::get_if<engine::PodGroupUnserved>(&fact)) {
    const FairMutexLock lock(facts_mu_);
    flavour_of_.erase(unserved->uid);
  }
  Apply(fact);
}

// 1. Asks for all lists. 2. Waits for nodes and pods, and for the rest as long as `patience`.
// 3. Reports what did not come as WatchStale, before anybody leads.
bool ClusterFeed::Refresh(const std::function<bool()>& go_on) {
  std::string late;
  {
    const MutexLock lock(mu_);
    Awaited awaited;
    for (auto& [path, reader] : readers_) {
      if (reader.reflector->synced() && reader.needed)
        awaited.emplace(path, reader.reflector->Refresh());
    }
    if (!Await(awaited, go_on)) return false;
    for (const auto& [path, refresh] : awaited) {
      Reader& reader = readers_.at(path);
      reader.late = refresh;
      late += (late.empty() ? "" : ", ") + reader.reflector->resource().name;
    }
  }
  if (!late.empty()) ports_.warn("not waited for any longer: " + late);
  TellSilence();
  return true;
}

bool ClusterFeed::Await(Awaited& awaited, const std::function<bool()>& go_on) {
  const auto begin = std::chrono::steady_clock::now();
  while (true) {
    std::erase_if(awaited, [this](const auto& one) MUSTER_REQUIRES(mu_) {
      const auto reader = readers_.find(one.first);
      return reader == readers_.end() || reader->second.reflector->Fresh(one.second);
    });
    const auto waited = std::chrono::steady_clock::now() - begin;
    const bool basics = std::none_of(awaited.begin(), awaited.end(),
                                     [](const auto& one) { return TellsWhatIsFree(one.first); });
    if (awaited.empty() || (basics && waited >= options_.patience)) return true;
    if (stopping_ || !go_on() || waited >= options_.refresh_within) return false;
    stopped_.WaitFor(mu_, milliseconds(5));
  }
}

std::optional<ServedPodGroups> ClusterFeed::FindServed(const cluster::PodGroupUid& uid) const {
  const FairMutexLock lock(facts_mu_);
  const auto found = flavour_of_.find(uid);
  if (found == flavour_of_.end()) return std::nullopt;
  return served_.at(found->second);
}

void ClusterFeed::Apply(const News& news) {
  const auto* fact = std::get_if<engine::Fact>(&news);
  if (const cluster::Pod* pod = PodOf(news)) {
    ports_.versions.Note(pod->uid, pod->resource_version);
  } else if (const auto* gone = fact ? std::get_if<engine::PodRemoved>(fact) : nullptr) {
    ports_.versions.Forget(gone->uid);
  }
  Said said;
  {
    const FairMutexLock lock(facts_mu_);
    said = TellAll(joiner_.Join(news, ReadClocks().steady));
  }
  if (said.withheld) {
    said.warnings.push_back(
        "PodGroup " + std::get<cluster::PodGroup>(*fact).key.ToString() +
        " exists in more than one kind: the oldest object counts, the others are left alone");
  }
  Say(said);
}

ClusterFeed::Said ClusterFeed::TellAll(NewsJoiner::Joined joined) {
  Said said{std::move(joined.warnings), false, joined.read_nodes, false};
  std::vector<engine::Fact> facts;
  for (size_t i = 0; i < joined.facts.size(); ++i) {
    said.withheld = Choose(joined.facts[i], facts) || said.withheld;
    const bool last = i + 1 == joined.facts.size();
    if (!last && facts.size() < kFactsTogether) continue;
    outbox_.push_back(std::exchange(facts, {}));
    said.told = true;
  }
  // Threads sleep until what was due when they looked.
  const cluster::Time due = joiner_.owners().NextDue();
  said.read_owners = due < owners_due_;
  owners_due_ = std::min(due, owners_due_);
  return said;
}

void ClusterFeed::Deliver() {
  const FairMutexLock telling(telling_mu_);
  while (true) {
    const std::vector<engine::Fact>* facts = nullptr;
    {
      const FairMutexLock lock(facts_mu_);
      if (outbox_.empty()) return;
      facts = &outbox_.front();  // which stays there until it is applied: see OnItsWay
    }
    ports_.apply(*facts);
    const FairMutexLock lock(facts_mu_);
    outbox_.pop_front();
  }
}

bool ClusterFeed::OnItsWay(const std::string& ns) const {
  const auto of_ns = [&](const engine::Fact& fact) {
    const auto* pod = std::get_if<cluster::Pod>(&fact);
    return pod != nullptr && pod->key.ns == ns;
  };
  return std::any_of(outbox_.begin(), outbox_.end(), [&](const std::vector<engine::Fact>& facts) {
    return std::any_of(facts.begin(), facts.end(), of_ns);
  });
}

void ClusterFeed::Say(const Said& said) {
  if (said.told) Deliver();
  if (said.read_nodes) ReadNodesAgain();
  if (said.read_owners) PokeOwners();
  for (const std::string& warning : said.warnings) ports_.warn(warning);
}

void ClusterFeed::PokeOwners() {
  for (const auto& thread : owner_threads_) thread->Poke();
}

cluster::Time ClusterFeed::ReadOwners() {
  while (true) {
    std::optional<OwnerRequest> request;
    {
      const FairMutexLock lock(facts_mu_);
      request = joiner_.owners().Take(ReadClocks().steady);
      if (!request) return owners_due_ = joiner_.owners().NextDue();
    }
    {
      const MutexLock lock(mu_);
      if (stopping_) return cluster::Time::Never();
    }
    OwnerAnswer answer = ReadOwner(ports_.api, *request);
    Said said;
    {
      const FairMutexLock lock(facts_mu_);
      said = TellAll(joiner_.Learn(request->key, std::move(answer), ReadClocks().steady));
    }
    said.read_owners = false;  // as this does next
    Say(said);
    JudgeRest();
    OneSynced();
  }
}

void ClusterFeed::SetGrouping(GroupingSettings settings) {
  Said said;
  {
    const FairMutexLock lock(facts_mu_);
    said = TellAll(joiner_.Set(std::move(settings)));
  }
  Say(said);
  JudgeRest();
}

void ClusterFeed::JudgeRest() {
  for (bool behind = true; behind;) {
    Said said;
    {
      const FairMutexLock lock(facts_mu_);
      behind = joiner_.behind();
      if (behind) said = TellAll(joiner_.GoOn());
    }
    Say(said);
  }
}

std::string ClusterFeed::AskGrouping(cluster::Pod& pod) {
  NewsJoiner::Joined joined;
  Said said;
  std::string why;
  {
    const FairMutexLock lock(facts_mu_);
    why = joiner_.Ask(pod, joined);
    said = TellAll(std::move(joined));
    // What was made of the pod has to be known where it is asked for next.
    said.told = said.told || OnItsWay(pod.key.ns);
  }
  Say(said);
  return why;
}

bool ClusterFeed::Choose(const engine::Fact& fact, std::vector<engine::Fact>& facts) {
  PodGroupChoice::Told told = choice_.Observe(fact);
  for (engine::Fact& one : told.facts) {
    for (engine::Fact& follows : declared_.Observe(one, joiner_.GangOf(one)))
      facts.push_back(std::move(follows));
    facts.push_back(std::move(one));
  }
  return told.withheld;
}

cluster::Time ClusterFeed::LookAtAges(const Clocks& now) {
  bool basics = true;
  {
    const MutexLock lock(mu_);
    for (const auto& [path, reader] : readers_) {
      // What was never listed is waited for, not trusted.
      if (!reader.flavour && reader.needed) basics = basics && reader.reflector->synced();
    }
  }
  if (basics && basics_since_ == cluster::Time::Never()) basics_since_ = now.steady;
  if (basics && now.steady - basics_since_ >= cluster::Duration(options_.patience.count())) {
    OneSynced(false);
  }
  TellSilence();
  TellStorageReadable();
  return now.steady + cluster::Duration(options_.look_every.count());
}

void ClusterFeed::TellSilence() {
  const MutexLock told(silence_mu_);
  const std::string silent = Silent();
  if (silent != silent_) Apply(engine::Fact(engine::WatchStale{silent}));
  silent_ = silent;
}

// What was read of claims, volumes and classes is of now, all of it. Where CSINodes may not be read
// only the limits of drivers are missing.
bool ClusterFeed::StorageIsReadable() const {
  const MutexLock lock(mu_);
  for (const StorageKindNames& names : StorageKinds()) {
    if (names.kind == cluster::StorageKind::kNodeDrivers) continue;
    const auto reader = readers_.find(std::string(names.path));
    if (reader == readers_.end()) return false;
    const Reflector& reflector = *reader->second.reflector;
    if (!reflector.synced() || reflector.age() >= options_.stale_after) return false;
  }
  return true;
}

void ClusterFeed::TellStorageReadable() {
  const MutexLock told(silence_mu_);
  const bool readable = StorageIsReadable();
  if (readable != storage_readable_) Apply(engine::Fact(engine::StorageReadable{readable}));
  storage_readable_ = readable;
}

std::string ClusterFeed::Silent() const {
  std::string silent;
  const MutexLock lock(mu_);
  for (const auto& [path, reader] : readers_) {
    if (reader.flavour || !reader.needed || !said_synced_) continue;
    const Reflector& reflector = *reader.reflector;
    if (reflector.Fresh(reader.late) && reflector.age() < options_.stale_after) continue;
    silent += (silent.empty() ? "" : ", ") + reflector.resource().name;
  }
  return silent;
}

void ClusterFeed::OneSynced(bool patient) {
  std::string missing;
  {
    const MutexLock lock(mu_);
    if (said_synced_ || stopping_ || !discovered_) return;
    for (const auto& [path, reader] : readers_) {
      if (reader.reflector->synced() || !(reader.needed || reader.awaited)) continue;
      if (patient || !(reader.flavour || reader.awaited)) return;
      missing += (missing.empty() ? "" : ", ") + reader.reflector->resource().name;
    }
    // Of pods that were listed.
    const FairMutexLock facts(facts_mu_);
    if (joiner_.withheld() > 0) {
      if (patient) return;
      missing += (missing.empty() ? "" : ", ") + std::string("owners of pods");
    }
    said_synced_ = true;
  }
  if (!missing.empty()) ports_.warn("not waited for any longer: " + missing);
  SettleParts();
  TellStorageReadable();
  Said said;
  {
    const FairMutexLock lock(facts_mu_);
    said = TellAll(joiner_.Start());
  }
  Say(said);
  JudgeRest();
  ports_.synced();
}

}  // namespace muster::kube
