#include "topology/vendors/smi_matrix.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include "topology/vendors/cell_row.hpp"

namespace muster::topology {

using cluster::Error;
using cluster::Result;
using cluster::Status;

namespace {

enum class Heading { kCpu, kNuma, kMemory };

// Written without blanks and in lower case, rightmost first.
constexpr std::array<std::pair<std::string_view, Heading>, 3> kHeadings = {
    {{"gpunumaid", Heading::kMemory},
     {"numaaffinity", Heading::kNuma},
     {"cpuaffinity", Heading::kCpu}}};

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

bool IsNamePart(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-' ||
         c == ':';
}

// A NIC's name that is none of the well-known: "ibp12s0", "rocep59s0f0".
bool IsLooseName(std::string_view text) {
  return !text.empty() && text.size() <= 32 &&
         std::isalpha(static_cast<unsigned char>(text.front())) != 0 &&
         std::all_of(text.begin(), text.end(), IsNamePart) && text.back() != ':' &&
         text.find_first_of("0123456789") != std::string_view::npos && !ParseLink(text) &&
         !IsAcceleratorName(LeadingDeviceName(text));
}

// "GPU0GPU1": the names that a word is made of; itself when it is one of no known kind; nothing
// when it is no name.
std::vector<std::string> SplitNames(std::string_view word) {
  std::vector<std::string> names;
  std::string_view rest = word;
  while (!rest.empty()) {
    const std::string_view name = LeadingDeviceName(rest);
    if (name.empty()) break;
    names.emplace_back(name);
    rest.remove_prefix(name.size());
  }
  if (rest.empty()) return names;
  if (IsLooseName(word)) return {std::string(word)};
  return {};
}

// Whether the line can be the row of the device `name`.
bool StartsRow(const ToolLine& line, std::string_view name) {
  const std::string_view word = line.first().text;
  if (!word.starts_with(name)) return false;
  const std::string_view rest = word.substr(name.size());
  if (rest.empty()) return line.words.size() < 2 || line.words[1].text != ":";
  // Glued to its first cell.
  return rest.front() == 'X' || rest.front() == 'x' || rest.front() == 'S' || rest.front() == 'N' ||
         rest.front() == 'P' || rest.front() == 'H' || rest.front() == 'I';
}

bool IsHeader(const ToolLine& line) {
  const std::string_view name = LeadingDeviceName(line.first().text);
  if (!IsAcceleratorName(name)) return false;
  std::string_view next = std::string_view(line.first().text).substr(name.size());
  if (next.empty() && line.words.size() == 1) return true;
  if (next.empty()) next = line.words[1].text;
  if (!LeadingDeviceName(next).empty()) return true;
  const std::string lower = Lower(next);
  if (lower.starts_with("cpu") || lower.starts_with("numa") || lower.starts_with("gpu"))
    return true;
  return line.words.size() > 2 && IsLooseName(next);
}

// By line, whether it can be the header of a matrix: its first device begins a line below.
std::vector<bool> FindHeaders(const std::vector<ToolLine>& lines) {
  std::vector<bool> headers(lines.size(), false);
  std::set<std::string_view> below;
  for (size_t i = lines.size(); i-- > 0;) {
    const std::string_view name = LeadingDeviceName(lines[i].first().text);
    headers[i] = IsHeader(lines[i]) && below.count(name) > 0;
    if (StartsRow(lines[i], name)) below.insert(name);
  }
  return headers;
}

// What topo -p2p says of two GPUs, by its legend.
constexpr std::array<std::string_view, 7> kPeerStates = {"OK", "CNS", "GNS", "TNS",
                                                         "NS", "DR",  "U"};

// The line behind the table of topo -p2p whose header is line `begin`; `begin` when there is none.
// In one with a single GPU nothing but X stands.
size_t EndOfPeerTable(const std::vector<ToolLine>& lines, size_t begin) {
  const std::vector<ToolWord>& names = lines[begin].words;
  bool states = false;
  for (size_t row = 0; row < names.size(); ++row) {
    if (!IsAcceleratorName(names[row].text) || begin + 1 + row >= lines.size()) return begin;
    const std::vector<ToolWord>& words = lines[begin + 1 + row].words;
    if (words.size() != names.size() + 1 || words.front().text != names[row].text) return begin;
    for (size_t i = 1; i < words.size(); ++i) {
      if ((words[i].text == "X") != (i == row + 1)) return begin;
      if (i == row + 1) continue;
      if (std::find(kPeerStates.begin(), kPeerStates.end(), words[i].text) == kPeerStates.end())
        return begin;
      states = true;
    }
  }
  return states ? begin + 1 + names.size() : begin;
}

// Whether a line can be the end of a row that was wrapped.
bool LooksLikeCells(const ToolLine& line) {
  return std::all_of(line.words.begin(), line.words.end(), [](const ToolWord& word) {
    return word.text.find_first_not_of("XxSYNODEPHBIVCWAU0123456789,-/_") == std::string::npos;
  });
}

// Where no "GPU NUMA ID" says which nodes are memory of GPUs. Nodes with CPUs come before all
// others, so a list such as "0,2-9" beside "1,10-17" has two kinds: what goes on behind a gap,
// after the last node at which the list of some GPU begins, has no CPUs. Of a list without a gap
// nobody knows, nor where CPUs are numbered by turns, as nodes are then.
std::optional<int> FirstMemoryNode(const std::vector<Accelerator>& gpus) {
  constexpr auto kMostRanges = 2;  // one for each thread of a core
  int last = -1;
  std::optional<int> width;  // of the nodes with CPUs that a list begins with
  for (const Accelerator& gpu : gpus) {
    if (gpu.numa.empty()) continue;
    std::vector<int> numa = gpu.numa;
    std::sort(numa.begin(), numa.end());
    last = std::max(last, numa.front());
    int run = 1;
    while (std::cmp_less(run, numa.size()) && numa[static_cast<size_t>(run)] == numa.front() + run)
      ++run;
    if (std::cmp_equal(run, numa.size())) continue;
    if (gpu.cpus.empty() || std::count(gpu.cpus.begin(), gpu.cpus.end(), ',') >= kMostRanges)
      return std::nullopt;
    width = std::min(width.value_or(run), run);
  }
  return width ? std::optional(last + *width) : std::nullopt;
}

class MatrixReader {
 public:
  MatrixReader(const std::vector<ToolLine>& lines, size_t header, const std::string& source)
      : lines_(lines), header_(header), source_(source) {}

  Result<Machine> Read() {
    for (const auto step : {&MatrixReader::ReadHeader, &MatrixReader::ReadRows,
                            &MatrixReader::CheckCells, &MatrixReader::ReadSurroundings}) {
      const Status status = (this->*step)();
      if (!status.ok()) return status.error();
    }
    SettleNuma();
    return std::move(machine_);
  }

 private:
  Error Refuse(Place place, std::string message) const {
    return Refusal(source_, place, std::move(message));
  }

  // 1. The header: names of devices, then headings of what else a row tells.
  Status ReadHeader();
  void TakeHeadings(Stream* stream);
  Result<std::vector<Piece>> CutNames(const Stream& stream) const;
  Status AddDevices(const std::vector<Piece>& names);
  // 2. The rows, in the order of the header.
  Status ReadRows();
  Status ReadRow(size_t row, size_t begin, size_t end);
  Status ReadValues(size_t row, const std::vector<Piece>& values);
  Result<size_t> EndOfRow(size_t row, size_t begin) const;
  // 3. Links are the same both ways.
  Status CheckCells();
  // 4. Legends before and behind; that there is no second matrix.
  Status ReadSurroundings();
  Status ReadNicLegend(const ToolLine& line);
  void SettleNuma();
  bool SettleNuma(NetworkDevice* nic, size_t place);

  size_t devices() const { return names_.size(); }

  const std::vector<ToolLine>& lines_;
  const size_t header_;
  const std::string& source_;
  size_t end_ = 0;  // the line behind the matrix
  std::vector<std::string> names_;
  std::vector<Heading> headings_;
  std::vector<Place> places_;  // of the cells
  size_t values_before_ = 0;   // how many the last row has behind its cells
  std::map<std::string, std::string> legend_;
  Machine machine_;
};

void MatrixReader::TakeHeadings(Stream* stream) {
  std::string lower = Lower(stream->text());
  for (const auto& [text, heading] : kHeadings) {
    if (!lower.ends_with(text)) continue;
    lower.resize(lower.size() - text.size());
    stream->Truncate(lower.size());
    headings_.insert(headings_.begin(), heading);
  }
}

Result<std::vector<Piece>> MatrixReader::CutNames(const Stream& stream) const {
  struct Chunk {
    std::string text;
    Place place;
    bool wrapped = false;  // it may go on what ends the line before
  };
  std::vector<Chunk> chunks;
  for (size_t i = 0; i < stream.size(); ++i) {
    const Stream::Break before = stream.BreakBefore(i);
    if (i == 0 || before != Stream::Break::kNone) {
      chunks.push_back({"", stream.PlaceOf(i), i > 0 && before == Stream::Break::kLine});
    }
    chunks.back().text += stream.text()[i];
  }
  std::vector<Piece> names;
  for (size_t i = 0; i < chunks.size(); ++i) {
    Chunk chunk = chunks[i];
    while (i + 1 < chunks.size() && chunks[i + 1].wrapped &&
           (SplitNames(chunk.text).empty() || SplitNames(chunks[i + 1].text).empty())) {
      chunk.text += chunks[++i].text;
    }
    const std::vector<std::string> split = SplitNames(chunk.text);
    if (split.empty()) {
      return Refuse(chunk.place,
                    "header: expected a device or one of CPU Affinity, NUMA Affinity "
                    "and GPU NUMA ID, found " +
                        Shown(chunk.text));
    }
    for (const std::string& name : split) names.push_back({name, chunk.place});
  }
  return names;
}

Status MatrixReader::AddDevices(const std::vector<Piece>& names) {
  if (names.size() > kMostDevices) {
    return Refuse(names.front().place,
                  "header: more than " + std::to_string(kMostDevices) + " devices");
  }
  const std::string_view prefix = AcceleratorPrefix(names.front().text);
  for (const Piece& name : names) {
    if (std::find(names_.begin(), names_.end(), name.text) != names_.end()) {
      return Refuse(name.place, "header: " + name.text + " is there twice");
    }
    names_.push_back(name.text);
    if (!IsAcceleratorName(name.text)) {
      machine_.nics.push_back({name.text, name.text, {}});
      continue;
    }
    if (!machine_.nics.empty() || AcceleratorPrefix(name.text) != prefix) {
      return Refuse(name.place, "header: " + name.text + " stands among devices of another kind");
    }
    Accelerator gpu;
    gpu.name = name.text;
    const int index = ParseNumbers(name.text.substr(prefix.size()), 1).front();
    if (index > 4095) return Refuse(name.place, "header: " + name.text + ": number too large");
    gpu.index = static_cast<uint16_t>(index);
    if (!machine_.gpus.empty() && machine_.gpus.back().index >= gpu.index) {
      return Refuse(name.place, "header: " + name.text + " stands behind " +
                                    machine_.gpus.back().name + ": expected rising numbers");
    }
    machine_.gpus.push_back(std::move(gpu));
  }
  if (machine_.gpus.size() > kMostGpus) {
    return Refuse(names.front().place, "header: more than " + std::to_string(kMostGpus) + " GPUs");
  }
  machine_.tool = prefix == "NPU" || prefix == "Phy-ID" ? Tool::kAscend
                  : prefix == "PPU"                     ? Tool::kPpu
                                                        : Tool::kNvidia;
  return cluster::Ok{};
}

Status MatrixReader::ReadHeader() {
  const std::string first(LeadingDeviceName(lines_[header_].first().text));
  size_t rows = header_ + 1;
  while (rows < lines_.size() && !StartsRow(lines_[rows], first)) ++rows;
  if (rows == lines_.size()) {
    return Refuse(lines_[header_].first().place,
                  "header: no row of " + first + " follows: the text is cut");
  }
  Stream stream(lines_, header_, rows, 0);
  TakeHeadings(&stream);
  const Result<std::vector<Piece>> names = CutNames(stream);
  if (!names.ok()) return names.error();
  end_ = rows;
  return AddDevices(*names);
}

Result<size_t> MatrixReader::EndOfRow(size_t row, size_t begin) const {
  const bool last = row + 1 == devices();
  for (size_t i = begin + 1; i < lines_.size(); ++i) {
    const ToolLine& line = lines_[i];
    if (!last && StartsRow(line, names_[row + 1])) return i;
    if (last && (!LooksLikeCells(line) || IsDeviceName(line.first().text))) return i;
    if (LooksLikeCells(line) && LeadingDeviceName(line.first().text).empty()) continue;
    return Refuse(line.first().place, (last ? "expected the end of the matrix"
                                            : "expected the row of " + names_[row + 1]) +
                                          ", found " + Shown(line.first().text));
  }
  if (last) return lines_.size();
  const ToolWord& word = lines_.back().words.back();
  return Refuse({word.place.line, word.place.column + word.text.size()},
                "expected the row of " + names_[row + 1] + ", found the end: the text is cut");
}

Status MatrixReader::ReadRows() {
  machine_.cells.resize(devices() * devices());
  places_.resize(machine_.cells.size());
  for (size_t row = 0; row < devices(); ++row) {
    const Result<size_t> end = EndOfRow(row, end_);
    if (!end.ok()) return end.error();
    Status status = ReadRow(row, end_, *end);
    if (!status.ok()) return status;
    end_ = *end;
  }
  return cluster::Ok{};
}

Status MatrixReader::ReadRow(size_t row, size_t begin, size_t end) {
  const Stream stream(lines_, begin, end, names_[row].size());
  const Piece label{names_[row], lines_[begin].first().place};
  const Result<RowCells> cells =
      topology::ReadRow(stream, devices(), headings_.size(), label, source_);
  if (!cells.ok()) return cells.error();
  for (size_t column = 0; column < devices(); ++column) {
    const Piece& piece = cells->cells[column];
    machine_.cells[row * devices() + column] = {*ParseLink(piece.text), piece.text, 0};
    places_[row * devices() + column] = piece.place;
  }
  return ReadValues(row, cells->values);
}

Status MatrixReader::ReadValues(size_t row, const std::vector<Piece>& values) {
  const auto told = [](const Piece& value) { return value.text != "N/A"; };
  if (row > 0 && row < machine_.gpus.size() && values.size() != values_before_) {
    return Refuse(values.empty() ? places_[(row + 1) * devices() - 1] : values.front().place,
                  "row " + names_[row] + " has " + std::to_string(values.size()) +
                      " values, and the row before it " + std::to_string(values_before_));
  }
  values_before_ = values.size();
  if (values.size() < headings_.size()) {
    // With a column left blank, or glued to the next one, nobody knows which: no matter as long as
    // the rest says nothing, or is one list that can only be of CPUs, or of so many NUMA nodes that
    // the GPU is at none of them.
    const bool cpus_only = !values.empty() && headings_.front() == Heading::kCpu &&
                           std::none_of(values.begin() + 1, values.end(), told) &&
                           values.front().text.find_first_of(",-") != std::string::npos &&
                           !MayBeTwoLists(values.front().text);
    if (!cpus_only && std::any_of(values.begin(), values.end(), told)) {
      return Refuse(values.front().place,
                    "row " + names_[row] + " has " + std::to_string(values.size()) +
                        " values for the " + std::to_string(headings_.size()) +
                        " columns behind the devices: put blanks between them, and N/A for a "
                        "column without a value");
    }
    if (cpus_only && row < machine_.gpus.size() && told(values.front())) {
      machine_.gpus[row].cpus = values.front().text;
    }
    return cluster::Ok{};
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (!told(values[i])) continue;
    const std::vector<int> numbers = ParseNumbers(values[i].text, kMostNumbers);
    const bool gpu = row < machine_.gpus.size();
    switch (headings_[i]) {
      case Heading::kCpu:
        if (gpu) machine_.gpus[row].cpus = values[i].text;
        break;
      case Heading::kNuma:
        if (numbers.size() > kMostDevices) return Refuse(values[i].place, "too many NUMA nodes");
        (gpu ? machine_.gpus[row].numa : machine_.nics[row - machine_.gpus.size()].numa) = numbers;
        break;
      case Heading::kMemory:
        if (numbers.size() != 1) {
          return Refuse(
              values[i].place,
              "row " + names_[row] + ": expected one GPU NUMA ID, found " + Shown(values[i].text));
        }
        if (gpu) machine_.gpus[row].memory_node = numbers.front();
        break;
    }
  }
  return cluster::Ok{};
}

Status MatrixReader::CheckCells() {
  for (size_t row = 0; row < devices(); ++row) {
    for (size_t column = 0; column < devices(); ++column) {
      const Cell& cell = machine_.At(row, column);
      const Place place = places_[row * devices() + column];
      const std::string where = "row " + names_[row] + ", column " + names_[column] + ": ";
      if ((cell.link.type == LinkType::kSelf) != (row == column)) {
        return Refuse(place, where +
                                 "X stands where a row meets its own column and nowhere else, "
                                 "found " +
                                 cell.text);
      }
      const Cell& other = machine_.At(column, row);
      if (row > column && cell.link != other.link) {
        return Refuse(place, where + cell.text + " contradicts " + other.text +
                                 " the other way, in line " +
                                 std::to_string(places_[column * devices() + row].line));
      }
      if (cell.link.fabric() && std::max(row, column) >= machine_.gpus.size()) {
        return Refuse(place, where + cell.text + " to a NIC, which has no such link");
      }
    }
  }
  return cluster::Ok{};
}

Status MatrixReader::ReadNicLegend(const ToolLine& line) {
  for (size_t i = 0; i < line.words.size(); ++i) {
    const ToolWord& word = line.words[i];
    const size_t colon = word.text.find(':');
    const std::string column = word.text.substr(0, colon);
    if (colon == std::string::npos || !IsDeviceName(column) || IsAcceleratorName(column)) continue;
    std::string name = word.text.substr(colon + 1);
    if (name.empty() && i + 1 < line.words.size()) name = line.words[++i].text;
    if (name.empty() || name.size() > 64 || name.back() == ':' ||
        !std::all_of(name.begin(), name.end(), IsNamePart)) {
      return Refuse(word.place, "NIC legend: " + column + " has no name: the text is cut");
    }
    const auto nic = std::find_if(machine_.nics.begin(), machine_.nics.end(),
                                  [&](const NetworkDevice& n) { return n.column == column; });
    if (nic == machine_.nics.end()) {
      return Refuse(word.place, "NIC legend: the matrix has no " + column);
    }
    if (!legend_.emplace(column, name).second) {
      return Refuse(word.place, "NIC legend: " + column + " is there twice");
    }
    if (std::any_of(legend_.begin(), legend_.end(), [&](const auto& entry) {
          return entry.first != column && entry.second == name;
        })) {
      return Refuse(word.place, "NIC legend: two NICs are called " + name);
    }
    nic->name = name;
  }
  return cluster::Ok{};
}

Status MatrixReader::ReadSurroundings() {
  const std::vector<bool> headers = FindHeaders(lines_);
  bool names_node = false;
  bool names_nvlink = false;
  for (size_t i = 0; i < lines_.size(); ++i) {
    if (i >= header_ && i < end_) continue;
    const ToolLine& line = lines_[i];
    if (i >= end_ && headers[i]) {
      return Refuse(line.first().place, "a second matrix begins here: give one machine's alone");
    }
    if (i >= end_ && IsDeviceName(line.first().text) && line.words.size() > 1 &&
        ParseLink(line.words[1].text)) {
      return Refuse(line.first().place, "a row of " + line.first().text +
                                            " behind the matrix, which has no such column left");
    }
    Status legend = ReadNicLegend(line);
    if (!legend.ok()) return legend;
    if (line.words.size() < 2 || !line.words[1].text.starts_with("=")) continue;
    names_node = names_node || line.first().text == "NODE";
    names_nvlink = names_nvlink || line.first().text == "NV#";
  }
  machine_.pcie_only = machine_.tool == Tool::kNvidia && names_node && !names_nvlink &&
                       std::none_of(machine_.cells.begin(), machine_.cells.end(),
                                    [](const Cell& cell) { return cell.link.fabric(); });
  return cluster::Ok{};
}

// A NIC is where a device lies that it reaches without leaving a NUMA node.
bool MatrixReader::SettleNuma(NetworkDevice* nic, size_t place) {
  std::vector<int> found;
  for (size_t other = 0; other < devices(); ++other) {
    const LinkType type = machine_.At(place, other).link.type;
    if (type < LinkType::kNode || type > LinkType::kPix) continue;
    const size_t gpus = machine_.gpus.size();
    const std::vector<int>& numa =
        other < gpus ? machine_.gpus[other].numa : machine_.nics[other - gpus].numa;
    if (numa.empty()) continue;
    if (!found.empty() && found != numa) return false;
    found = numa;
  }
  nic->numa = found;
  return !found.empty();
}

void MatrixReader::SettleNuma() {
  // Grace's GPUs have NUMA nodes of their own, beside those of its CPUs and behind them.
  std::optional<int> first_memory;
  for (const Accelerator& gpu : machine_.gpus) {
    if (gpu.memory_node)
      first_memory = std::min(first_memory.value_or(INT32_MAX), *gpu.memory_node);
  }
  if (!first_memory) first_memory = FirstMemoryNode(machine_.gpus);
  const auto drop_memory = [&](std::vector<int>& numa) {
    if (first_memory && !numa.empty() &&
        *std::min_element(numa.begin(), numa.end()) < *first_memory)
      std::erase_if(numa, [&](int node) { return node >= *first_memory; });
  };
  for (Accelerator& gpu : machine_.gpus) drop_memory(gpu.numa);
  for (NetworkDevice& nic : machine_.nics) drop_memory(nic.numa);
  for (bool more = true; more;) {
    more = false;
    for (size_t i = 0; i < machine_.nics.size(); ++i) {
      NetworkDevice& nic = machine_.nics[i];
      if (nic.numa.empty()) more = SettleNuma(&nic, machine_.gpus.size() + i) || more;
    }
  }
}

}  // namespace

std::optional<Place> DropPeerTables(std::vector<ToolLine>& lines) {
  std::optional<Place> first;
  std::vector<ToolLine> others;
  for (size_t i = 0; i < lines.size();) {
    const size_t end = EndOfPeerTable(lines, i);
    if (end > i && !first) first = lines[i].first().place;
    if (end > i) {
      i = end;
    } else {
      others.push_back(std::move(lines[i++]));
    }
  }
  lines = std::move(others);
  return first;
}

std::optional<size_t> FindSmiMatrix(const std::vector<ToolLine>& lines) {
  const std::vector<bool> headers = FindHeaders(lines);
  const auto first = std::find(headers.begin(), headers.end(), true);
  if (first != headers.end()) return static_cast<size_t>(first - headers.begin());
  // Without rows: the reader says so.
  for (size_t i = 0; i < lines.size(); ++i) {
    if (IsHeader(lines[i])) return i;
  }
  return std::nullopt;
}

Result<Machine> ReadSmiMatrix(const std::vector<ToolLine>& lines, size_t header,
                              const std::string& source) {
  return MatrixReader(lines, header, source).Read();
}

}  // namespace muster::topology
