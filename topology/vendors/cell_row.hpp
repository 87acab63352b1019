// CellRow: one row of a matrix of nvidia-smi, npu-smi or ppu-smi, cut into cells however its blanks
// and line breaks were lost or added, where one way alone fits. Internal to topology/.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "topology/vendors/tool_text.hpp"

namespace muster::topology {

// Text without its blanks, which remembers where they were. A line break may be one or not.
class Stream {
 public:
  enum class Break : unsigned char { kNone, kLine, kBlank };

  // The words of lines[begin, end), without the first `skip` characters.
  Stream(const std::vector<ToolLine>& lines, size_t begin, size_t end, size_t skip);

  const std::string& text() const { return text_; }
  size_t size() const { return text_.size(); }
  Break BreakBefore(size_t at) const { return at == size() ? Break::kBlank : breaks_[at]; }
  Place PlaceOf(size_t at) const { return at < places_.size() ? places_[at] : end_; }
  // Whether text()[begin, end) holds no blank.
  bool Unbroken(size_t begin, size_t end) const;
  void Truncate(size_t size);

 private:
  std::string text_;
  std::vector<Break> breaks_;
  std::vector<Place> places_;
  Place end_;
};

struct Piece {
  std::string text;
  Place place;
};

struct RowCells {
  std::vector<Piece> cells;   // link classes
  std::vector<Piece> values;  // CPU affinity and the like
};

// `cells` link classes and at most `values` lists of numbers or "N/A". An error says what is wrong
// with the row of `name`, which begins at `label`.
cluster::Result<RowCells> ReadRow(const Stream& stream, size_t cells, size_t values,
                                  const Piece& label, const std::string& source);

inline constexpr size_t kMostNumbers = 8192;
// "0-23,48-71": numbers and ranges, each not falling. The numbers; empty for anything else or when
// there are more than `most`.
std::vector<int> ParseNumbers(std::string_view list, size_t most);
// Whether such a list could be two whose blank was lost: "0-150" of "0-15" and "0". "0-7" could
// not.
bool MayBeTwoLists(std::string_view list);

}  // namespace muster::topology
