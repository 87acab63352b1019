// HAMi's annotation hami.io/node-nvidia-score, as its device plugin writes it:
//   [{"uuid":"GPU-a","score":{"GPU-b":150}},{"uuid":"GPU-b","score":{"GPU-a":150}}]
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "kube/decode/node_links.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"
#include "kube/json/json_writer.hpp"
#include "topology/links/kubelet_pick.hpp"
#include "topology/links/link.hpp"
#include "topology/links/node_topology.hpp"
#include "topology/vendors/parse_machine.hpp"

namespace muster::kube {

using cluster::Code;
using cluster::Error;
using cluster::Gpu;
using cluster::Result;
using topology::Machine;

namespace {

constexpr size_t kMaxScoreBytes = size_t{1} << 20;
constexpr int64_t kMostScore = topology::kMostBondedLinks * 100 + 60;

using PlaceOfUuid = std::map<std::string_view, size_t>;

Error Malformed(std::string message) {
  return {Code::kInvalidArgument, std::move(message), kHamiScoresAnnotation};
}

// Among the node's whole devices.
Result<PlaceOfUuid> PlacesOf(const std::vector<Gpu>& gpus) {
  PlaceOfUuid places;
  for (const Gpu& gpu : gpus) {
    if (gpu.partition()) continue;
    const std::string device = "device " + std::to_string(gpu.index.value);
    if (gpu.uuid.empty()) return Malformed(device + " of the node has no UUID");
    if (!places.try_emplace(gpu.uuid, places.size()).second)
      return Malformed(device + " of the node has the UUID of another one");
  }
  if (places.size() > topology::kMostGpus) {
    return Error{Code::kExhausted,
                 "expected at most " + std::to_string(topology::kMostGpus) +
                     " devices, the node has " + std::to_string(places.size()),
                 kHamiScoresAnnotation};
  }
  return places;
}

// Scores of pairs by place; nothing where the list has none.
class ScoreTable {
 public:
  explicit ScoreTable(const PlaceOfUuid& places)
      : places_(places), scores_(places.size() * places.size()), told_(places.size(), false) {}

  void Read(const JsonView& list) {
    list.Items([&](const JsonView& item) {
      const JsonView uuid = item.Get("uuid");
      const auto from = places_.find(uuid.RequiredText());
      if (from == places_.end()) return;
      if (told_[from->second]) uuid.Problem("is given twice");
      told_[from->second] = true;
      const JsonView scores = item.Get("score");
      scores.Members([&](std::string_view other, const JsonView& value) {
        const auto to = places_.find(other);
        if (to == places_.end() || to == from) return;
        const int64_t score = value.Integer(0, 0, kMostScore);
        if (!topology::LinkOfPairScore(static_cast<int>(score))) {
          value.Problem("expected 0 to 60, by tens, and 100 for each NVLink, found " +
                        std::to_string(score));
        }
        At(from->second, to->second) = static_cast<int>(score);
      });
    });
  }

  // What is missing, or said one way and otherwise the other.
  std::optional<Error> Fault() const {
    for (const auto& [a, from] : places_) {
      for (const auto& [b, to] : places_) {
        if (from == to) continue;
        const std::string pair = std::string(a) + " and " + std::string(b);
        if (!At(from, to)) return Malformed("no score of " + pair);
        if (At(to, from) && *At(from, to) != *At(to, from)) {
          return Malformed("the score of " + pair + " is " + std::to_string(*At(from, to)) +
                           ", the other way " + std::to_string(*At(to, from)));
        }
      }
    }
    return std::nullopt;
  }

  std::vector<int> scores() const {
    std::vector<int> scores;
    scores.reserve(scores_.size());
    for (const std::optional<int>& score : scores_) scores.push_back(score.value_or(0));
    return scores;
  }

 private:
  std::optional<int>& At(size_t from, size_t to) { return scores_[from * places_.size() + to]; }
  const std::optional<int>& At(size_t from, size_t to) const {
    return scores_[from * places_.size() + to];
  }

  const PlaceOfUuid& places_;
  std::vector<std::optional<int>> scores_;
  std::vector<bool> told_;
};

}  // namespace

Result<Machine> ParseHamiScores(std::string_view text, const std::vector<Gpu>& gpus) {
  const Result<PlaceOfUuid> places = PlacesOf(gpus);
  if (!places.ok()) return places.error();
  const Result<Json> json = Json::Parse(text, kMaxScoreBytes, kHamiScoresAnnotation);
  if (!json.ok()) return json.error().At(kHamiScoresAnnotation);
  JsonProblems problems;
  ScoreTable table(*places);
  table.Read(JsonView(json->root(), kHamiScoresAnnotation, problems));
  if (!problems.none()) return problems.first();
  if (const std::optional<Error> fault = table.Fault()) return *fault;
  const std::vector<int> scores = table.scores();
  if (places->size() > 1 && std::all_of(scores.begin(), scores.end(), [](int s) { return s == 0; }))
    return Malformed("all scores are 0: HAMi found no links");
  Result<Machine> machine = topology::MachineOfPairScores(scores, places->size());
  if (!machine.ok()) return machine;
  size_t place = 0;
  for (const Gpu& gpu : gpus) {
    if (gpu.partition()) continue;
    machine->gpus[place].index = gpu.index.value;
    machine->gpus[place].name = "GPU" + std::to_string(gpu.index.value);
    ++place;
  }
  return machine;
}

void AppendHamiScores(std::string& out, const cluster::Node& node) {
  const auto machine = topology::ParseMachine(node.topology, "");
  std::vector<const Gpu*> gpus;
  gpus.reserve(node.gpus.size());
  for (const Gpu& gpu : node.gpus) {
    if (!gpu.partition()) gpus.push_back(&gpu);
  }
  JsonWriter json(out);
  json.BeginArray();
  for (size_t a = 0; machine.ok() && a < gpus.size() && a < machine->gpus.size(); ++a) {
    json.BeginObject().Key("uuid").Text(gpus[a]->uuid).Key("score").BeginObject();
    for (size_t b = 0; b < gpus.size() && b < machine->gpus.size(); ++b) {
      const topology::Link link = machine->At(a, b).link;
      if (a != b) json.TextKey(gpus[b]->uuid).Integer(topology::PairScore(link, link.type));
    }
    json.EndObject().EndObject();
  }
  json.EndArray();
}

}  // namespace muster::kube
