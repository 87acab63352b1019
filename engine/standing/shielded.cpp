#include "engine/standing/shielded.hpp"

#include "engine/standing/lost.hpp"

namespace muster::engine {

void Shielded::Add(const Lost& lost, const Protector& by) {
  const cluster::GangId& gang = lost.loss.holder.gang;
  const std::string said = "gang " + gang.key.ToString() + ": " + by.why;
  if (gangs == 0 || (by.until && (!until || *by.until < *until))) {
    until = by.until;
    why = said;
    by_budget = by.by_budget;
  }
  if (by.by_budget && budgets.empty()) budgets = said;
  if (last_ != gang) ++gangs;
  last_ = gang;
  candidates.push_back(std::move(ToCandidates({&lost}).front()));
}

std::string Shielded::Words() const {
  return by_budget || budgets.empty() ? why : why + "; " + budgets;
}

}  // namespace muster::engine
