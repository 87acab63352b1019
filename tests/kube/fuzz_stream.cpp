// Any bytes as a list and as a watch of pods and PodGroups: what comes does not depend on where
// they are cut, little is held, and a list that is read whole has the same records.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/base/check.hpp"
#include "kube/decode/decode.hpp"
#include "kube/decode/kept_fields.hpp"
#include "kube/encode/encode.hpp"
#include "kube/json/json_view.hpp"
#include "kube/watch/list_stream.hpp"
#include "kube/watch/watch_stream.hpp"

namespace {

namespace kube = muster::kube;
using Texts = std::vector<std::string>;

std::string Told(const muster::cluster::Result<muster::cluster::Pod>& pod) {
  return pod.ok() ? kube::EncodePod(*pod) : "refused";
}

// The pods of a list that came in pieces of `piece` bytes; nothing when it is no list.
std::optional<Texts> Pods(std::string_view text, size_t piece, bool& cut_down) {
  Texts pods;
  kube::ListStream page(kube::PodFields(), "Pod", "pods", [&](const kube::KeptObject& object) {
    cut_down = cut_down || object.left_out() != nullptr;
    pods.push_back(Told(kube::DecodePod(object.node(), object.With({}))));
  });
  bool more = true;
  for (size_t at = 0; more && at < text.size(); at += piece)
    more = page.Feed(text.substr(at, piece));
  MUSTER_CHECK(page.most_held() <= 2 * text.size() + 1024);
  if (!page.End().ok()) return std::nullopt;
  return pods;
}

Texts Groups(std::string_view text, size_t piece) {
  Texts groups;
  kube::WatchStream watch(kube::PodGroupFields(), "PodGroup", [&](const kube::WatchEvent& event) {
    const auto group = kube::DecodePodGroup(event.object->node(), "scheduling.x-k8s.io/v1alpha1",
                                            event.object->With({}));
    groups.push_back(group.ok() ? group->key.ToString() + group->defect : event.message);
    return true;
  });
  bool more = true;
  for (size_t at = 0; more && at < text.size(); at += piece) {
    more = watch.Feed(text.substr(at, piece));
  }
  groups.push_back(watch.problem());
  return groups;
}

// What a reader of the whole text makes of it.
std::optional<Texts> PodsOfWhole(std::string_view text) {
  const auto json = kube::Json::Parse(text, text.size(), "pods");
  if (!json.ok()) return std::nullopt;
  kube::JsonProblems problems;
  const kube::JsonView list(json->root(), "pods", problems);
  const kube::JsonView metadata = list.Get("metadata");
  const kube::JsonView items = list.Get("items");
  Texts pods;
  items.Items([&](const kube::JsonView& item) {
    if (item.ExpectObject()) pods.push_back(Told(kube::DecodePod(item.node())));
  });
  list.ExpectObject();
  metadata.Get("resourceVersion").RequiredText();
  metadata.Get("continue").Text();
  if (!problems.none()) return std::nullopt;
  return pods;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t piece = 1 + data[0] % 64;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  bool cut_down = false;
  const std::optional<Texts> pods = Pods(text, piece, cut_down);
  MUSTER_CHECK(pods == Pods(text, text.size() + 1, cut_down));
  MUSTER_CHECK(Groups(text, piece) == Groups(text, text.size() + 1));
  const std::optional<Texts> whole = PodsOfWhole(text);
  if (!whole || cut_down) return 0;
  MUSTER_CHECK(pods && *pods == *whole);
  return 0;
}
