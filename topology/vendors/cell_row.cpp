#include "topology/vendors/cell_row.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <tuple>

#include "topology/links/link.hpp"

namespace muster::topology {

using cluster::Error;
using cluster::Result;

namespace {

constexpr size_t kLongestClass = 8;
constexpr size_t kLongestValue = 2048;

// "0-23" or "7", with room for what comes after; the rest of `list` behind it.
std::optional<std::pair<int, int>> TakeRange(std::string_view* list) {
  const auto number = [&]() -> std::optional<int> {
    int value = 0;
    const char* end = list->data() + list->size();
    const auto [rest, error] = std::from_chars(list->data(), end, value);
    if (error != std::errc() || list->front() == '-') return std::nullopt;
    list->remove_prefix(static_cast<size_t>(rest - list->data()));
    return value;
  };
  if (list->empty()) return std::nullopt;
  const std::optional<int> first = number();
  if (!first) return std::nullopt;
  if (list->empty() || list->front() != '-') return std::pair{*first, *first};
  list->remove_prefix(1);
  if (list->empty()) return std::nullopt;
  const std::optional<int> last = number();
  if (!last || *last < *first) return std::nullopt;
  return std::pair{*first, *last};
}

bool IsValue(std::string_view text) {
  return text == "N/A" || !ParseNumbers(text, kMostNumbers).empty();
}

// Finds the ways to cut a row, up to two: a second one says that the row is ambiguous.
class Cutter {
 public:
  // Glued: cells may touch each other.
  enum class Blanks { kNeeded, kGlued };

  Cutter(const Stream& stream, size_t cells, size_t values, Blanks blanks)
      : stream_(stream), cells_(cells), values_(values), blanks_(blanks) {}

  int Ways() { return WaysFrom(0, 0); }

  // After Ways() was 1.
  RowCells Cut() {
    RowCells row;
    size_t at = 0;
    size_t pieces = 0;
    while (at < stream_.size()) {
      const bool cell = pieces < cells_;
      for (size_t end = at + 1; end <= stream_.size(); ++end) {
        if (!MayEnd(at, end, pieces) || WaysFrom(end, pieces + 1) == 0) continue;
        (cell ? row.cells : row.values)
            .push_back({stream_.text().substr(at, end - at), stream_.PlaceOf(at)});
        at = end;
        ++pieces;
        break;
      }
    }
    return row;
  }

 private:
  int WaysFrom(size_t at, size_t pieces) {
    if (at == stream_.size()) return pieces == cells_ + values_ ? 1 : 0;
    if (pieces >= cells_ + values_) return 0;
    const auto key = std::pair{at, pieces};
    if (const auto known = memo_.find(key); known != memo_.end()) return known->second;
    int ways = 0;
    for (size_t end = at + 1; end <= stream_.size() && ways < 2; ++end) {
      if (stream_.BreakBefore(end - 1) == Stream::Break::kBlank && end - 1 > at) break;
      if (end - at > (pieces < cells_ ? kLongestClass : kLongestValue)) break;
      if (MayEnd(at, end, pieces)) ways += WaysFrom(end, pieces + 1);
    }
    ways = std::min(ways, 2);
    memo_[key] = ways;
    return ways;
  }

  // Whether text [at, end) can be the piece number `pieces`.
  bool MayEnd(size_t at, size_t end, size_t pieces) const {
    if (!stream_.Unbroken(at, end)) return false;
    const std::string_view text = std::string_view(stream_.text()).substr(at, end - at);
    const bool broken = stream_.BreakBefore(end) != Stream::Break::kNone;
    if (blanks_ == Blanks::kNeeded && !broken) return false;
    if (pieces < cells_) return ParseLink(text).has_value();
    // Digits of two lists that touch could be of either.
    if (!broken && text.back() != 'A' && stream_.text()[end] != 'N') return false;
    return IsValue(text);
  }

  const Stream& stream_;
  const size_t cells_;
  const size_t values_;
  const Blanks blanks_;
  std::map<std::pair<size_t, size_t>, int> memo_;  // by place and pieces before it
};

// What a person sees first: the first word that is none of the cells, or that there are too few or
// too many.
Error Explain(const Stream& stream, size_t cells, const Piece& label, const std::string& source) {
  size_t found = 0;
  size_t at = 0;
  while (at < stream.size()) {
    size_t end = at + 1;
    while (stream.BreakBefore(end) == Stream::Break::kNone) ++end;
    const std::string_view word = std::string_view(stream.text()).substr(at, end - at);
    if (found < cells && !ParseLink(word)) {
      if (IsValue(word)) break;
      return Refusal(source, stream.PlaceOf(at),
                     "row " + label.text +
                         ": expected a link class such as X, SYS, NODE, PHB, PXB, PIX or NV4, "
                         "found " +
                         Shown(word));
    }
    if (found == cells && !IsValue(word)) {
      return Refusal(source, stream.PlaceOf(at),
                     "row " + label.text + ": expected the row's end or a list of numbers, found " +
                         Shown(word));
    }
    if (found < cells) ++found;
    at = end;
  }
  if (found < cells) {
    return Refusal(source, label.place,
                   "row " + label.text + " has " + std::to_string(found) +
                       " cells, and the header " + std::to_string(cells) +
                       " devices: the text is cut or a column is missing");
  }
  return Refusal(source, label.place,
                 "row " + label.text + " has more columns than the header names");
}

}  // namespace

Stream::Stream(const std::vector<ToolLine>& lines, size_t begin, size_t end, size_t skip) {
  for (size_t i = begin; i < end; ++i) {
    for (size_t w = 0; w < lines[i].words.size(); ++w) {
      const ToolWord& word = lines[i].words[w];
      // "0-23, 48-71" is one list.
      const bool list = !text_.empty() && text_.back() == ',';
      for (size_t c = 0; c < word.text.size(); ++c) {
        if (skip > 0) {
          --skip;
          continue;
        }
        Break before = c > 0 || list ? Break::kNone : w > 0 ? Break::kBlank : Break::kLine;
        if (text_.empty()) before = Break::kBlank;
        text_ += word.text[c];
        breaks_.push_back(before);
        places_.push_back({word.place.line, word.place.column + c});
      }
      end_ = {word.place.line, word.place.column + word.text.size()};
    }
  }
}

bool Stream::Unbroken(size_t begin, size_t end) const {
  for (size_t i = begin + 1; i < end; ++i) {
    if (breaks_[i] == Break::kBlank) return false;
  }
  return true;
}

void Stream::Truncate(size_t size) {
  end_ = PlaceOf(size);
  text_.resize(size);
  breaks_.resize(size);
  places_.resize(size);
}

std::vector<int> ParseNumbers(std::string_view list, size_t most) {
  std::vector<int> numbers;
  while (true) {
    const auto range = TakeRange(&list);
    if (!range || static_cast<size_t>(range->second - range->first) >= most - numbers.size()) {
      return {};
    }
    for (int n = range->first; n <= range->second; ++n) numbers.push_back(n);
    if (list.empty()) return numbers;
    if (list.front() != ',') return {};
    list.remove_prefix(1);
  }
}

bool MayBeTwoLists(std::string_view list) {
  const auto digit = [&](size_t at) { return list[at] >= '0' && list[at] <= '9'; };
  for (size_t at = 1; at < list.size(); ++at) {
    if (digit(at - 1) && digit(at) && !ParseNumbers(list.substr(0, at), kMostNumbers).empty() &&
        !ParseNumbers(list.substr(at), kMostNumbers).empty()) {
      return true;
    }
  }
  return false;
}

Result<RowCells> ReadRow(const Stream& stream, size_t cells, size_t values, const Piece& label,
                         const std::string& source) {
  // Blanks where they belong, before glued; as many values as the header has columns, before fewer.
  for (const auto blanks : {Cutter::Blanks::kNeeded, Cutter::Blanks::kGlued}) {
    for (size_t fewer = 0; fewer <= values; ++fewer) {
      Cutter cutter(stream, cells, values - fewer, blanks);
      const int ways = cutter.Ways();
      if (ways == 1) return cutter.Cut();
      if (ways > 1) {
        return Refusal(
            source, label.place,
            "row " + label.text + " can be read in several ways: put blanks between its columns");
      }
    }
  }
  return Explain(stream, cells, label, source);
}

}  // namespace muster::topology
