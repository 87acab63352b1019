#include "kube/lead/usage_text.hpp"

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"
#include "kube/json/json_writer.hpp"

namespace muster::kube {

using cluster::Result;
using queues::PastUse;
using queues::Resource;
using queues::Uint128;
using queues::UsageRecord;

namespace {

constexpr size_t kMaxUsageBytes = size_t{2} << 20;
constexpr std::string_view kName = "usage.json";
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr uint64_t kRests = uint64_t{1} << queues::kMeanDigits;

int64_t WholeOf(Uint128 mean) { return static_cast<int64_t>(mean >> queues::kMeanDigits); }
int64_t RestOf(Uint128 mean) { return static_cast<int64_t>(static_cast<uint64_t>(mean) % kRests); }

template <typename Values, typename Show>
void WriteList(JsonWriter& json, std::string_view key, const Values& values, Show show) {
  json.Key(key).BeginArray();
  for (const auto& value : values) json.Integer(show(value));
  json.EndArray();
}

// As a member of `queues`, without a comma.
std::string TextOf(const std::string& queue, const PastUse& past) {
  std::string text;
  AppendJsonText(text, queue);
  text += ':';
  JsonWriter json(text);
  json.BeginObject().Key("halfLife").Integer(past.half_life.value());
  json.Key("since").Integer(past.since.milliseconds());
  WriteList(json, "used", past.used, [](int64_t used) { return used; });
  WriteList(json, "mean", past.mean, WholeOf);
  WriteList(json, "rest", past.mean, RestOf);
  json.EndObject();
  return text;
}

std::vector<int64_t> ReadList(const JsonView& list, size_t size, int64_t most) {
  std::vector<int64_t> values;
  list.Items([&](const JsonView& item) { values.push_back(item.Integer(0, 0, most)); });
  if (values.size() != size) list.Problem("expected a number for each of the resources");
  values.resize(size);
  return values;
}

int64_t ReadMilliseconds(const JsonView& json) {
  if (!json.present()) json.Problem("expected a number of milliseconds");
  return json.Integer(0, 0, kMost);
}

PastUse ReadPast(const JsonView& json, size_t resources) {
  PastUse past;
  const JsonView half_life = json.Get("halfLife");
  past.half_life = cluster::Duration(ReadMilliseconds(half_life));
  const JsonView since = json.Get("since");
  past.since = cluster::Time(ReadMilliseconds(since));
  const JsonView used = json.Get("used");
  past.used = ReadList(used, resources, queues::kMostAmount);
  const JsonView whole = json.Get("mean");
  const std::vector<int64_t> wholes = ReadList(whole, resources, queues::kMostAmount);
  const JsonView rest = json.Get("rest");
  const std::vector<int64_t> rests = ReadList(rest, resources, static_cast<int64_t>(kRests - 1));
  for (size_t r = 0; r < resources; ++r) {
    past.mean.push_back(Uint128{static_cast<uint64_t>(wholes[r])} * kRests +
                        static_cast<uint64_t>(rests[r]));
  }
  return past;
}

}  // namespace

UsageText EncodeUsage(const UsageRecord& record, size_t most_bytes) {
  UsageText text;
  JsonWriter json(text.json);
  json.BeginObject().Key("resources").BeginArray();
  for (const Resource& resource : record.resources) json.Text(ToString(resource));
  json.EndArray();
  std::map<std::string, std::string> queues;
  size_t bytes = text.json.size() + std::string_view(R"(,"queues":{}})").size();
  for (const auto& [queue, past] : record.queues) {
    const auto added = queues.emplace(queue, TextOf(queue, past)).first;
    bytes += added->second.size() + 1;  // and a comma
  }
  if (bytes > most_bytes) {
    for (const std::string& queue : queues::LeastFirst(record.queues)) {
      if (bytes <= most_bytes) break;
      const auto found = queues.find(queue);
      bytes -= found->second.size() + 1;
      queues.erase(found);
      ++text.left_out;
    }
  }
  text.json += R"(,"queues":{)";
  const char* comma = "";
  for (const auto& [queue, past] : queues) {
    text.json += comma + past;
    comma = ",";
  }
  text.json += "}}";
  return text;
}

Result<UsageRecord> DecodeUsage(std::string_view text) {
  const Result<Json> json = Json::Parse(text, kMaxUsageBytes, kName);
  if (!json.ok()) return json.error();
  JsonProblems problems;
  const JsonView object(json->root(), kName, problems);
  UsageRecord record;
  const JsonView resources = object.Get("resources");
  resources.Items([&](const JsonView& item) {
    const std::optional<Resource> resource = queues::ParseResource(item.RequiredText());
    if (!resource) return item.Problem("expected gpu, gpu/MODEL, gpuMemory, cpu or memory");
    record.resources.push_back(*resource);
  });
  const JsonView queues = object.Get("queues");
  queues.Members([&](std::string_view queue, const JsonView& past) {
    record.queues.emplace(queue, ReadPast(past, record.resources.size()));
  });
  if (!problems.none()) return problems.first();
  return record;
}

}  // namespace muster::kube
