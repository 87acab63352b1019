#include "cli/tables/gang_rows.hpp"

#include <rapidjson/document.h>

#include <set>
#include <utility>

#include "cli/tables/answer.hpp"

namespace muster::cli {
namespace {

using cluster::Result;
using Value = rapidjson::Value;
using Row = std::vector<std::string>;

constexpr const char* kGone = "gone";

// Green: it runs. Red: it never will as things are, or lost members. Yellow: it waits.
std::string_view ColourOf(std::string_view state) {
  if (state == "Running") return "32";
  if (state == "Degraded" || state == "Unsatisfiable" || state == "Invalid" || state == "Forbidden")
    return "31";
  if (state == "Forming" || state == "Queued" || state == "Backoff") return "33";
  return {};
}

std::vector<Table::Column> Columns(bool wide, bool colours) {
  const Table::Column state = {"STATE", false, colours ? ColourOf : nullptr};
  std::vector<Table::Column> columns = {{"NAMESPACE"},      {"NAME"},         state,
                                        {"PRIORITY", true}, {"GPUS", true},   {"MIN", true},
                                        {"BOUND", true},    {"WAITED", true}, {"AGE", true}};
  if (wide) columns.insert(columns.end(), {{"QUEUE"}, {"CODE"}});
  columns.push_back({"WHY"});
  return columns;
}

std::string Seconds(const Value& gang, const char* name) {
  return Find(gang, name) == nullptr ? "-" : Elapsed(Decimal(gang, name));
}

// `timed`: with how long it waits and is there, which changes all the time.
Row CellsOf(const Value& gang, bool wide, bool timed) {
  const Value* reason = Find(gang, "reason");
  Row row = {Text(gang, "namespace"),
             Text(gang, "name"),
             Text(gang, "state"),
             std::to_string(Integer(gang, "priority")),
             Number(Decimal(gang, "gpus")),
             std::to_string(Integer(gang, "minMember")),
             std::to_string(Integer(gang, "bound")) + "/" + std::to_string(Integer(gang, "pods")),
             timed ? Seconds(gang, "waitedSeconds") : "",
             timed ? Seconds(gang, "ageSeconds") : ""};
  if (wide) {
    row.push_back(OrDash(Text(gang, "queue")));
    row.push_back(reason == nullptr ? "-" : OrDash(Text(*reason, "code")));
  }
  row.push_back(reason == nullptr ? "" : Text(*reason, "message"));
  return row;
}

}  // namespace

GangRows::GangRows(bool wide, std::size_t width, bool colours)
    : wide_(wide), width_(width), table_(Columns(wide, colours)) {}

Result<std::string> GangRows::Update(std::string_view json) {
  rapidjson::Document document;
  const Value* gangs = ParseList(document, json, "gangs");
  if (gangs == nullptr) return Unexpected();
  std::set<std::string> there;
  for (const Value& gang : gangs->GetArray()) {
    const std::string key = Text(gang, "namespace") + "/" + Text(gang, "name");
    there.insert(key);
    Row row = CellsOf(gang, wide_, false);
    const auto before = shown_.find(key);
    if (before != shown_.end() && before->second == row) continue;
    table_.Add(CellsOf(gang, wide_, true));
    shown_.insert_or_assign(key, std::move(row));
  }
  for (auto gang = shown_.begin(); gang != shown_.end();) {
    if (there.count(gang->first) != 0) {
      ++gang;
      continue;
    }
    table_.Add({gang->second[0], gang->second[1], kGone});
    gang = shown_.erase(gang);
  }
  if (table_.rows() == 0) return std::string();
  std::string text = first_ ? table_.ToString(width_) : table_.RowsToString(width_);
  first_ = false;
  table_.Clear();
  return text;
}

Result<std::string> GangsTable(std::string_view json, bool wide, std::size_t width, bool colours) {
  Result<std::string> text = GangRows(wide, width, colours).Update(json);
  if (text.ok() && text->empty()) return std::string("no gangs\n");
  return text;
}

}  // namespace muster::cli
