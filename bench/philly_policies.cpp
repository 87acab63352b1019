#include "bench/philly_policies.hpp"

#include <algorithm>
#include <charconv>
#include <numeric>

#include "sim/replay/csv.hpp"

namespace muster::bench {

using cluster::Result;

Result<std::vector<Quota>> ReadQuotas(std::string_view text, const std::string& file,
                                      int64_t nodes) {
  enum Column { kQueue, kShare };
  const Result<sim::CsvFile> csv = sim::CsvFile::Parse(text, file, {"vc", "share"});
  if (!csv.ok()) return csv.error();
  std::vector<Quota> quotas;
  std::vector<double> shares;
  for (std::size_t row = 0; row < csv->rows(); ++row) {
    const std::string_view cell = csv->Text(row, kShare);
    double share = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), share);
    if (error != std::errc() || end != cell.data() + cell.size() || !(share >= 0 && share <= 1))
      return csv->ErrorAt(row, kShare, "expected a number from 0 to 1");
    shares.push_back(share);
    quotas.push_back({std::string(csv->Text(row, kQueue))});
  }
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  if (sum <= 0) return cluster::Error{cluster::Code::kInvalidArgument, "no shares", file};
  std::vector<std::size_t> order(quotas.size());
  std::iota(order.begin(), order.end(), 0);
  int64_t left = nodes;
  for (std::size_t i = 0; i < quotas.size(); ++i) {
    const double exact = shares[i] / sum * static_cast<double>(nodes);
    quotas[i].nodes = static_cast<int64_t>(exact);
    shares[i] = exact - static_cast<double>(quotas[i].nodes);  // the remainder from here on
    left -= quotas[i].nodes;
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return shares[a] > shares[b]; });
  for (std::size_t i = 0; left > 0; i = (i + 1) % order.size(), --left) ++quotas[order[i]].nodes;
  return quotas;
}

std::string PolicyText(const PolicyChoice& policy, const std::vector<Quota>& quotas,
                       int64_t gpus_per_node) {
  // Links are no matter here.
  std::string text =
      "apiVersion: muster.dev/v1alpha1\nkind: Policy\nplacement: {machineProfiles: none}\n"
      "queues:\n- name: root\n  reservations: {depth: " +
      std::to_string(policy.depth) + "}\n";
  if (policy.learnt) text += "  backfill: {trust: learnt}\n";
  const bool preempts = policy.name == "fair-preemption";
  if (!preempts) text += "  preemption: {withinQueue: never, reclaim: never}\n";
  if (policy.name == "strict-fifo") return text + "  order: strict-fifo\n";
  if (policy.name == "fifo") return text + "  order: fifo\n";
  for (const Quota& quota : quotas) {
    const int64_t gpus = quota.nodes * gpus_per_node;
    text +=
        "- name: \"" + quota.queue + "\"\n  order: fifo\n  weight: " + std::to_string(gpus) + "\n";
    // What is guaranteed is nobody else's booking to delay: shares alone decide without preemption.
    if (preempts) {
      const int64_t kept = gpus * policy.guarantee / 100;
      text += "  guarantee: {gpu: " + std::to_string(kept) + "}\n";
    }
  }
  return text;
}

}  // namespace muster::bench
