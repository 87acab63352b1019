// ToolText: a tool's output as people paste it, cut into lines and words that remember their place
// in the original. Takes out what terminals, mails and documents add. Internal to topology/.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/base/result.hpp"

namespace muster::topology {

// From 1; columns in bytes of the pasted text.
struct Place {
  size_t line = 1;
  size_t column = 1;
};

struct ToolWord {
  std::string text;
  Place place;
};

struct ToolLine {
  size_t number = 1;
  std::vector<ToolWord> words;  // never empty: blank lines and rules ("-----") are left out

  const ToolWord& first() const { return words.front(); }
  // The words with one blank between.
  std::string Joined() const;
  bool Has(std::string_view text) const { return Joined().find(text) != std::string::npos; }
};

std::vector<ToolLine> CutLines(std::string_view text);

// An error of kInvalidArgument at "source:line:column".
cluster::Error Refusal(const std::string& source, Place place, std::string message);
// Quoted, short and fit for one line.
std::string Shown(std::string_view text);

// "GPU12", "NPU0", "Phy-ID12", "PPU3", "NIC4", "mlx5_0", "mlx5_bond_1": names that cannot be
// anything else. The longest one that `text` begins with; empty when there is none.
std::string_view LeadingDeviceName(std::string_view text);
bool IsDeviceName(std::string_view text);
// "GPU" of "GPU12", and the like of other vendors; empty for anything else, such as "NIC0".
std::string_view AcceleratorPrefix(std::string_view text);
bool IsAcceleratorName(std::string_view text);

}  // namespace muster::topology
