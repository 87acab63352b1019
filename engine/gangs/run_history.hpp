// RunHistory: how long gangs ran, by what they were made of (internal to engine/). Owned and
// guarded by Scheduler.
//
// 1. Gangs are of one template where namespace, name and pods' requests are the same; of the name
//    without what controllers append: numbers, and the random endings of generateName.
// 2. Only runs that ended well in this process's life count, of each template the last two.
// 3. At most kMostTemplates are kept; the one that was longest without a run goes first.
// 4. A restart forgets all of it. Another engine can be told (DecidedFacts).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "cluster/base/units.hpp"
#include "engine/contract/facts.hpp"
#include "engine/gangs/gang.hpp"

namespace muster::engine {

// "train" of "train-28943821", "train-7-x9k2b".
std::string TemplateName(std::string_view name);

class RunHistory {
 public:
  static constexpr size_t kMostTemplates = 4096;

  void Ran(const Gang& gang, cluster::Duration duration);
  // The mean of the last two runs; 0: there was none.
  cluster::Duration MeanOf(const Gang& gang) const;
  bool empty() const { return runs_.empty(); }

  LearntRuns All() const;
  void Adopt(const LearntRuns& learnt);

 private:
  struct Runs {
    cluster::Duration last;
    cluster::Duration before;  // 0: there was one only
    uint64_t turn = 0;         // of the last one
  };
  std::map<std::string, Runs> runs_;       // by template
  std::map<uint64_t, std::string> turns_;  // the same, by Runs::turn
  uint64_t turn_ = 0;
};

}  // namespace muster::engine
