#include "topology/vendors/amd_tables.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

namespace muster::topology {

using cluster::Error;
using cluster::Result;
using cluster::Status;

namespace {

enum class TableKind { kAccess, kWeight, kHops, kType, kBandwidth, kNuma, kOther };

struct Title {
  std::string_view text;  // in the title's line
  TableKind kind;
};

// amd-smi's titles end in "TABLE:"; rocm-smi's stand between rules. Earlier ones first.
constexpr std::array<Title, 8> kTitles = {{{"ACCESS TABLE:", TableKind::kAccess},
                                           {"WEIGHT TABLE:", TableKind::kWeight},
                                           {"HOPS TABLE:", TableKind::kHops},
                                           {"LINK TYPE TABLE:", TableKind::kType},
                                           {"NUMA BW TABLE:", TableKind::kBandwidth},
                                           {"Weight between two GPUs", TableKind::kWeight},
                                           {"Hops between two GPUs", TableKind::kHops},
                                           {"Link Type between two GPUs", TableKind::kType}}};

std::optional<TableKind> TitleOf(const ToolLine& line) {
  for (const Title& title : kTitles) {
    if (line.Has(title.text)) return title.kind;
  }
  if (line.Has("TABLE:") || line.Has("between two GPUs")) return TableKind::kOther;
  if (line.first().text.starts_with("=") && line.Has("Numa Nodes")) return TableKind::kNuma;
  if (line.first().text.starts_with("=")) return TableKind::kOther;
  return std::nullopt;
}

bool IsHex(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
}

// "0000:0c:00.0"
bool IsAddress(std::string_view text) {
  return text.size() == 12 && text[4] == ':' && text[7] == ':' && text[10] == '.' &&
         IsHex(text.substr(0, 4)) && IsHex(text.substr(5, 2)) && IsHex(text.substr(8, 2)) &&
         IsHex(text.substr(11));
}

bool IsName(std::string_view text) {
  return IsAddress(text) || (IsAcceleratorName(text) && text.starts_with("GPU"));
}

std::optional<int> ParseWhole(std::string_view text, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > most) {
    return std::nullopt;
  }
  return value;
}

bool StartsNuma(const ToolLine& line) {
  return line.first().text.starts_with("GPU[") || line.first().text == "GPU";
}

// It says itself what it is, so its title does not matter.
bool IsNumaLine(const ToolLine& line) { return line.Has("(Topology) Numa "); }

struct Table {
  Place place;  // of its title
  std::vector<ToolWord> cells;
};

class TableReader {
 public:
  TableReader(const std::vector<ToolLine>& lines, const std::string& source)
      : lines_(lines), source_(source) {}

  Result<Machine> Read() {
    for (const auto step :
         {&TableReader::ReadAll, &TableReader::CheckBothWays, &TableReader::FillCells}) {
      const Status status = (this->*step)();
      if (!status.ok()) return status.error();
    }
    return std::move(machine_);
  }

 private:
  Error Refuse(Place place, std::string message) const {
    return Refusal(source_, place, std::move(message));
  }
  size_t devices() const { return names_.size(); }

  Status ReadAll();
  // The line behind it.
  Result<size_t> ReadTable(TableKind kind, size_t title);
  Status ReadNames(const ToolLine& line);
  Result<size_t> ReadNuma(size_t begin);
  Status ReadNumaLine(const ToolLine& line);
  Status CheckBothWays();
  Status FillCells();
  Result<Link> LinkAt(const Table& types, size_t a, size_t b) const;
  std::optional<MegabytesPerSecond> BandwidthAt(size_t a, size_t b) const;

  const std::vector<ToolLine>& lines_;
  const std::string& source_;
  std::vector<std::string> names_;
  std::map<TableKind, Table> tables_;
  std::map<std::pair<int, std::string>, int> numa_;  // by GPU and row: "Node", "Affinity"
  Machine machine_;
};

Status TableReader::ReadNames(const ToolLine& line) {
  if (line.words.size() > kMostGpus) {
    return Refuse(line.first().place, "more than " + std::to_string(kMostGpus) + " GPUs");
  }
  std::vector<std::string> names;
  for (const ToolWord& word : line.words) {
    if (!IsName(word.text)) {
      return Refuse(word.place, "expected GPUs as columns, such as GPU0 or 0000:0c:00.0, found " +
                                    Shown(word.text));
    }
    if (std::find(names.begin(), names.end(), word.text) != names.end()) {
      return Refuse(word.place, word.text + " is there twice");
    }
    names.push_back(word.text);
  }
  if (!names_.empty() && names != names_) {
    return Refuse(line.first().place, "this table has other GPUs than the one before");
  }
  names_ = std::move(names);
  return cluster::Ok{};
}

Result<size_t> TableReader::ReadTable(TableKind kind, size_t title) {
  const Place place = lines_[title].first().place;
  if (title + 1 == lines_.size()) return Refuse(place, "this table is empty: the text is cut");
  const Status names = ReadNames(lines_[title + 1]);
  if (!names.ok()) return names.error();
  Table table{place, {}};
  size_t at = title + 2;
  for (const std::string& name : names_) {
    if (at == lines_.size() || lines_[at].first().text != name) {
      return Refuse(at == lines_.size() ? place : lines_[at].first().place,
                    "expected the row of " + name + ": the text is cut or wrapped");
    }
    const ToolLine& line = lines_[at++];
    if (line.words.size() != devices() + 1) {
      return Refuse(line.first().place,
                    "row " + name + " has " + std::to_string(line.words.size() - 1) +
                        " cells, and the table " + std::to_string(devices()) + " GPUs");
    }
    table.cells.insert(table.cells.end(), line.words.begin() + 1, line.words.end());
  }
  if (!tables_.emplace(kind, std::move(table)).second) {
    return Refuse(place, "this table is there twice: give one machine's alone");
  }
  return at;
}

// "GPU[0] : (Topology) Numa Node: 0"; of early versions "GPU 0 : …"
Status TableReader::ReadNumaLine(const ToolLine& line) {
  const std::string text = line.Joined();
  const bool bracket = text.starts_with("GPU[");
  const size_t close = text.find_first_of(bracket ? "]" : " :", 4);
  const size_t colon = text.rfind(": ");
  const std::string mark = "(Topology) Numa ";
  const size_t what = text.find(mark);
  if (!StartsNuma(line) || close == std::string::npos || what == std::string::npos ||
      colon == std::string::npos || colon < what + mark.size()) {
    return Refuse(line.first().place,
                  "expected \"GPU[0] : (Topology) Numa Node: 0\", found " + Shown(text));
  }
  const std::optional<int> gpu = ParseWhole(std::string_view(text).substr(4, close - 4), 4095);
  const std::string about = text.substr(what + mark.size(), colon - what - mark.size());
  std::string number = text.substr(colon + 2);
  const bool none = number == "-1" || number == "N/A";
  const std::optional<int> node = none ? -1 : ParseWhole(number, 8191);
  if (!gpu || !node) return Refuse(line.first().place, "expected numbers, found " + Shown(text));
  if (!numa_.emplace(std::pair{*gpu, about}, *node).second) {
    return Refuse(line.first().place,
                  "the Numa " + about + " of GPU[" + std::to_string(*gpu) + "] is there twice");
  }
  return cluster::Ok{};
}

Result<size_t> TableReader::ReadNuma(size_t begin) {
  size_t at = begin + 1;
  for (; at < lines_.size() && !TitleOf(lines_[at]); ++at) {
    if (!StartsNuma(lines_[at])) break;
    const Status status = ReadNumaLine(lines_[at]);
    if (!status.ok()) return status.error();
  }
  return at;
}

Status TableReader::ReadAll() {
  for (size_t at = 0; at < lines_.size();) {
    const std::optional<TableKind> kind = TitleOf(lines_[at]);
    const bool other = !kind || (kind == TableKind::kOther && !lines_[at].Has("TABLE:") &&
                                 !lines_[at].Has("between two GPUs"));
    if (other) {
      if (IsName(lines_[at].first().text)) {
        return Refuse(lines_[at].first().place,
                      "a row outside of a table, found " + Shown(lines_[at].Joined()));
      }
      if (IsNumaLine(lines_[at])) {
        const Status status = ReadNumaLine(lines_[at]);
        if (!status.ok()) return status.error();
      }
      ++at;
      continue;
    }
    if (kind == TableKind::kOther) {  // of no use here, whatever its shape
      do ++at;
      while (at < lines_.size() && !TitleOf(lines_[at]) && !IsNumaLine(lines_[at]));
      continue;
    }
    const Result<size_t> next = kind == TableKind::kNuma ? ReadNuma(at) : ReadTable(*kind, at);
    if (!next.ok()) return next.error();
    at = *next;
  }
  if (tables_.count(TableKind::kType) == 0) {
    return Refuse(lines_.front().first().place,
                  "no table of link types: give the whole output of `rocm-smi --showtopo` or "
                  "`amd-smi topology`");
  }
  return cluster::Ok{};
}

Status TableReader::CheckBothWays() {
  for (const auto& [kind, table] : tables_) {
    if (kind == TableKind::kBandwidth) continue;  // may differ by direction; the smaller one counts
    for (size_t a = 0; a < devices(); ++a) {
      for (size_t b = 0; b < a; ++b) {
        const ToolWord& one = table.cells[a * devices() + b];
        const ToolWord& other = table.cells[b * devices() + a];
        if (one.text == other.text) continue;
        return Refuse(one.place, "row " + names_[a] + ", column " + names_[b] + ": " + one.text +
                                     " contradicts " + other.text + " the other way, in line " +
                                     std::to_string(other.place.line));
      }
    }
  }
  return cluster::Ok{};
}

Result<Link> TableReader::LinkAt(const Table& types, size_t a, size_t b) const {
  const ToolWord& word = types.cells[a * devices() + b];
  const bool self = word.text == "0" || word.text == "SELF" || word.text == "X";
  const std::string where = "row " + names_[a] + ", column " + names_[b] + ": ";
  if (self != (a == b)) {
    return Refuse(word.place,
                  where + "a GPU's link to itself is SELF or 0, found " + Shown(word.text));
  }
  if (self) return Link{LinkType::kSelf};
  Link link;
  if (word.text == "XGMI") {
    link.type = LinkType::kXgmi;
  } else if (word.text == "PCIE") {
    link.type = LinkType::kPcie;
  } else if (word.text != "UNKNOWN" && word.text != "N/A") {
    return Refuse(word.place, where + "expected XGMI, PCIE or N/A, found " + Shown(word.text));
  }
  const auto hops = tables_.find(TableKind::kHops);
  if (hops == tables_.end()) {
    link.hops = link.type == LinkType::kPcie ? 2 : 1;
    return link;
  }
  const ToolWord& count = hops->second.cells[a * devices() + b];
  const std::optional<int> number = count.text == "N/A" ? 1 : ParseWhole(count.text, 255);
  if (!number || *number == 0) {
    return Refuse(count.place, where + "expected the number of hops, found " + Shown(count.text));
  }
  link.hops = static_cast<uint8_t>(*number);
  return link;
}

// "50000-50000": from the least to the most, in MB/s.
std::optional<MegabytesPerSecond> TableReader::BandwidthAt(size_t a, size_t b) const {
  const auto table = tables_.find(TableKind::kBandwidth);
  if (table == tables_.end()) return 0;
  const std::string& text = table->second.cells[a * devices() + b].text;
  if (text == "N/A") return 0;
  const size_t dash = text.find('-');
  if (dash == std::string::npos) return std::nullopt;
  const std::optional<int> least = ParseWhole(std::string_view(text).substr(0, dash), 100'000'000);
  const std::optional<int> most = ParseWhole(std::string_view(text).substr(dash + 1), 100'000'000);
  if (!least || !most) return std::nullopt;
  return static_cast<MegabytesPerSecond>(std::max(*least, *most));
}

Status TableReader::FillCells() {
  const Table& types = tables_.at(TableKind::kType);
  machine_.tool = Tool::kAmd;
  machine_.cells.resize(devices() * devices());
  for (size_t a = 0; a < devices(); ++a) {
    Accelerator gpu;
    gpu.name = names_[a];
    const bool numbered = names_[a].starts_with("GPU");
    gpu.index = numbered ? static_cast<uint16_t>(
                               ParseWhole(std::string_view(names_[a]).substr(3), 65535).value_or(0))
                         : static_cast<uint16_t>(a);
    const auto node = numa_.find({gpu.index, "Node"});
    if (node != numa_.end() && node->second >= 0) gpu.numa = {node->second};
    machine_.gpus.push_back(std::move(gpu));
    for (size_t b = 0; b < devices(); ++b) {
      const Result<Link> link = LinkAt(types, a, b);
      if (!link.ok()) return link.error();
      const auto one = BandwidthAt(a, b);
      const auto other = BandwidthAt(b, a);
      if (!one || !other) {
        return Refuse(tables_.at(TableKind::kBandwidth).cells[a * devices() + b].place,
                      "expected a bandwidth such as 50000-50000 or N/A");
      }
      machine_.cells[a * devices() + b] = {*link, types.cells[a * devices() + b].text,
                                           std::min(*one, *other)};
    }
  }
  for (const auto& [key, node] : numa_) {
    if (std::none_of(machine_.gpus.begin(), machine_.gpus.end(),
                     [&, gpu = key.first](const Accelerator& a) { return a.index == gpu; })) {
      return Refuse(types.place, "GPU[" + std::to_string(key.first) +
                                     "] has a NUMA node and no row in the tables");
    }
  }
  return cluster::Ok{};
}

}  // namespace

bool HasAmdTables(const std::vector<ToolLine>& lines) {
  return std::any_of(lines.begin(), lines.end(), [](const ToolLine& line) {
    const std::optional<TableKind> kind = TitleOf(line);
    return kind && *kind != TableKind::kOther;
  });
}

Result<Machine> ReadAmdTables(const std::vector<ToolLine>& lines, const std::string& source) {
  return TableReader(lines, source).Read();
}

}  // namespace muster::topology
