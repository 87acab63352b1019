// DecisionLog: what was decided, as one number. Two runs with the same decisions in the same order
// at the same times have the same hash (FNV-1a, 64 bits), on any machine. Plain value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cluster/base/ids.hpp"
#include "cluster/base/units.hpp"

namespace muster::sim {

class DecisionLog {
 public:
  // `gpus` as in the annotation muster.dev/gpus; empty: none.
  void Add(cluster::Time at, const cluster::ObjectKey& pod, std::string_view node,
           std::string_view gpus) {
    uint64_t time = static_cast<uint64_t>(at.milliseconds());
    for (int i = 0; i < 8; ++i) {
      AddByte(static_cast<unsigned char>(time & 0xffU));
      time >>= 8U;
    }
    AddText(pod.ns);
    AddText(pod.name);
    AddText(node);
    AddText(gpus);
    ++count_;
  }
  uint64_t hash() const { return hash_; }
  int64_t count() const { return count_; }
  // 16 hexadecimal digits.
  std::string ToString() const {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text(16, '0');
    for (size_t i = 0; i < 16; ++i) text[15 - i] = kDigits[(hash_ >> (4 * i)) & 0xfU];
    return text;
  }

 private:
  void AddByte(unsigned char byte) { hash_ = (hash_ ^ byte) * 0x100000001b3ULL; }
  // Ends with a byte that no name contains, so that "ab"+"c" and "a"+"bc" differ.
  void AddText(std::string_view text) {
    for (const char c : text) AddByte(static_cast<unsigned char>(c));
    AddByte(0);
  }

  uint64_t hash_ = 0xcbf29ce484222325ULL;
  int64_t count_ = 0;
};

}  // namespace muster::sim
