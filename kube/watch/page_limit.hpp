// PageLimit: how many objects a page of a list is asked for. Halved when a page is too large to be
// answered or read in time, doubled again after kGoodPages that came whole. One thread.
#pragma once

#include <algorithm>
#include <cstdint>

namespace muster::kube {

class PageLimit {
 public:
  static constexpr int kGoodPages = 8;

  explicit PageLimit(int64_t most) : most_(most), now_(most) {}

  int64_t now() const { return now_; }
  // False: it was one object already.
  bool TooLarge() {
    good_ = 0;
    if (now_ <= 1) return false;
    now_ /= 2;
    return true;
  }
  void Good() {
    if (++good_ < kGoodPages) return;
    good_ = 0;
    now_ = std::min(now_ * 2, most_);
  }

 private:
  const int64_t most_;
  int64_t now_;
  int good_ = 0;  // pages in a row
};

}  // namespace muster::kube
