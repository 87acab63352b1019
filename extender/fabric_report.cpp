#include "extender/fabric_report.hpp"

#include <utility>

namespace muster::extender {

void FabricReport::Follow(const std::vector<std::string>& findings) {
  std::set<std::string> now(findings.begin(), findings.end());
  for (const std::string& finding : now) {
    if (!told_.contains(finding)) log_.Error("fabric labels are wrong", {{"finding", finding}});
  }
  for (const std::string& finding : told_) {
    if (!now.contains(finding)) log_.Info("finding of the fabric is gone", {{"finding", finding}});
  }
  told_ = std::move(now);
}

}  // namespace muster::extender
