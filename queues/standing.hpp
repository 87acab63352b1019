// Standing: how far a queue is below its share, with the gang added that it would start next (R2).
// Plain values; pure functions.
//
//   b = max over resources r of  w_r · max(0, max(U_r, M_r) + g_r − G_r) / (W · C_r)
//
// M is what the queue used on average, where it has a half-life (UsageMemory). What it uses now
// counts at least: else gangs that start would cost it nothing until the average has caught up.
#pragma once

#include <compare>
#include <string>

#include "queues/ledger.hpp"
#include "queues/wide.hpp"

namespace muster::queues {

struct Standing {
  // The gang asks for something that queues are guaranteed, and is within the guarantee in all that
  // it asks of these (NamesGuaranteedModel). What nobody is guaranteed (cores, where guarantees are
  // in GPUs) decides nothing here.
  bool within = false;
  bool weightless = false;  // weight 0: after all that have one
  Fraction b;               // weight 0: as if it were 1
  size_t resource = 0;      // in Tree::resources(), of b; the first of several
};

// The gang names a model that queues are guaranteed: then that model counts for its guarantee, and
// GPUs of any kind do not. What its queue has borrowed of other models is no matter.
bool NamesGuaranteedModel(const Tree& tree, const Vector& asks);

enum class Past { kCounts, kIgnored };  // kIgnored: as if no queue had a half-life

// `asks`: of the gang, by resource.
Standing StandingOf(const Ledger& ledger, QueueIndex queue, const Vector& asks,
                    Past past = Past::kCounts);

// Less: goes first.
std::strong_ordering Compare(const Standing& a, const Standing& b);

// Of b alone, whoever is within a guarantee.
std::strong_ordering CompareShares(const Standing& a, const Standing& b);

// For people, in thousandths: "0.375", "over capacity".
std::string Show(const Fraction& b);

}  // namespace muster::queues
