#include "queues/choice.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "cluster/base/nearest_word.hpp"

namespace muster::queues {

namespace {

bool Lists(const Queue& queue, const std::string& ns) {
  return std::find(queue.namespaces.begin(), queue.namespaces.end(), ns) != queue.namespaces.end();
}

bool Selects(const Queue& queue, const cluster::Labels& labels) {
  if (!queue.selector) return false;
  const cluster::Labels& wanted = queue.selector->match_labels;
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& label) {
    const auto found = labels.find(label.first);
    return found != labels.end() && found->second == label.second;
  });
}

std::string Listed(const std::vector<std::string>& names) {
  constexpr size_t kMost = 5;
  std::string text;
  for (size_t i = 0; i < names.size() && i < kMost; ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > kMost ? text + ", …" : text;
}

Choice Refused(Choice::Kind kind, std::string why) { return {kind, kOrphan, std::move(why)}; }

Choice ByName(const Tree& tree, const std::string& asked, const std::string& ns,
              const cluster::Labels& labels) {
  const std::optional<QueueIndex> index = tree.Find(asked);
  if (!index) {
    const auto near = cluster::NearestWord(asked, tree.Named());
    return Refused(Choice::Kind::kUnknown,
                   "there is no queue " + asked + (near ? ", did you mean " + *near + "?" : ""));
  }
  const Queue& queue = tree.at(*index);
  if (!queue.named()) {
    std::vector<std::string> below;
    for (const QueueIndex child : queue.children) {
      if (child != tree.orphan()) below.push_back(tree.at(child).name);
    }
    return Refused(Choice::Kind::kForbidden, "queue " + asked +
                                                 " has no gangs of its own, only the queues below "
                                                 "it: " +
                                                 Listed(below));
  }
  if (queue.open || Lists(queue, ns) || Selects(queue, labels))
    return {Choice::Kind::kChosen, queue.name, ""};
  return Refused(Choice::Kind::kForbidden, "namespace " + ns + " may not use queue " + asked);
}

}  // namespace

Choice Choose(const Tree& tree, const std::string& asked, const std::string& ns,
              const cluster::Labels& labels) {
  // Where the root is the only queue, no name counts.
  const bool only_root = tree.at(kRootIndex).leaf() && tree.orphan() == kRootIndex;
  if (!asked.empty() && !only_root) return ByName(tree, asked, ns, labels);
  std::array<std::vector<std::string>, 3> found;
  for (uint32_t i = 0; i < tree.size(); ++i) {
    const Queue& queue = tree.at(QueueIndex{i});
    if (!queue.named() || queue.name == kOrphan) continue;
    if (Lists(queue, ns)) {
      found[0].push_back(queue.name);
    } else if (Selects(queue, labels)) {
      found[1].push_back(queue.name);
    } else if (queue.open) {
      found[2].push_back(queue.name);
    }
  }
  for (const std::vector<std::string>& names : found) {
    if (names.size() == 1) return {Choice::Kind::kChosen, names.front(), ""};
    if (names.size() > 1) {
      return Refused(Choice::Kind::kForbidden, "namespace " + ns + " may use several queues (" +
                                                   Listed(names) +
                                                   "): name one with muster.dev/queue");
    }
  }
  return Refused(Choice::Kind::kForbidden, "no queue is for namespace " + ns);
}

}  // namespace muster::queues
