#include "engine/judging/unknown_gang.hpp"

#include <set>

#include "cluster/base/nearest_word.hpp"
#include "cluster/records/owned_gang_name.hpp"
#include "engine/standing/known_state.hpp"

namespace muster::engine {

using cluster::GangId;
using cluster::ObjectKey;

namespace {

constexpr size_t kMostNamed = 3;
// Pods of one PodGroup, for the names of their schedulers.
constexpr size_t kMostLooked = 64;

template <typename Names>
std::string List(const Names& names) {
  std::string text;
  size_t named = 0;
  for (const std::string& name : names) {
    if (named == kMostNamed) return text + " and others";
    text += (named++ == 0 ? "" : ", ") + name;
  }
  return text;
}

}  // namespace

bool CollectLike(const KnownState& state, const ObjectKey& asked, std::optional<GangId>& last,
                 LikeGang& like) {
  const auto& gangs = state.members.gangs();
  auto next = last ? gangs.upper_bound(*last) : gangs.begin();
  for (int64_t left = kSlice; next != gangs.end() && left > 0; ++next, --left) {
    const GangId& id = next->first;
    last = id;
    if (id.key.ns != asked.ns) {
      if (id.key.name == asked.name) like.elsewhere.push_back(id.key);
      continue;
    }
    if (cluster::IsGangOfOwner(id.key.name, asked.name) ||
        cluster::IsTogetherWith(id.key.name, asked.name))
      like.of_owner.push_back(id.key);
    like.names.push_back(id.key.name);
  }
  return next == gangs.end();
}

std::string PodsText(const KnownState& state, const ObjectKey& asked) {
  const std::string ours = ", Muster's is " + List(state.options.scheduler_names);
  if (const std::set<cluster::PodUid>* pods = state.members.UnmanagedOf(asked)) {
    std::set<std::string> names;
    for (const cluster::PodUid& uid : *pods) {
      const cluster::Pod* pod = state.cluster.FindPod(uid);
      if (pod != nullptr) names.insert(pod->spec->scheduler_name);
    }
    const bool one = pods->size() == 1;
    return "; " + std::to_string(pods->size()) + (one ? " pod that names" : " pods that name") +
           " its PodGroup " + (one ? "has" : "have") + " schedulerName " + List(names) + ours;
  }
  const cluster::Pod* pod = state.cluster.FindPod(asked);
  if (pod == nullptr) return {};
  const Gang* gang = state.members.GangOf(pod->uid);
  if (gang != nullptr)
    return "; pod " + asked.ToString() + " is a member of gang " + gang->id.key.ToString();
  return "; pod " + asked.ToString() + " has schedulerName " + pod->spec->scheduler_name + ours;
}

std::string OtherSchedulersText(const KnownState& state, const ObjectKey& group) {
  const std::set<cluster::PodUid>* pods = state.members.UnmanagedOf(group);
  if (pods == nullptr) return {};
  std::set<std::string> names;
  size_t looked = 0;
  size_t ended = 0;
  for (const cluster::PodUid& uid : *pods) {
    if (++looked > kMostLooked) break;
    const cluster::Pod* pod = state.cluster.FindPod(uid);
    if (pod == nullptr || pod->ending()) {
      ++ended;
    } else {
      names.insert(pod->spec->scheduler_name);
    }
  }
  if (names.empty()) return {};
  const size_t count = pods->size() - ended;
  return std::to_string(count) +
         (count == 1 ? " pod of this group names" : " pods of this group name") +
         (names.size() == 1 ? " the scheduler " : " the schedulers ") + List(names) + ", not " +
         List(state.options.scheduler_names) + ": set schedulerName";
}

std::string LikeText(const ObjectKey& asked, const LikeGang& like) {
  std::vector<std::string> meant;
  for (const ObjectKey& key : like.of_owner.empty() ? like.elsewhere : like.of_owner)
    meant.push_back(key.ToString());
  if (!meant.empty()) {
    return std::string("; did you mean ") + (meant.size() == 1 ? "gang " : "gangs ") + List(meant) +
           "?";
  }
  const auto near = cluster::NearestWord(asked.name, like.names);
  return near ? "; did you mean gang " + ObjectKey{asked.ns, *near}.ToString() + "?" : "";
}

}  // namespace muster::engine
