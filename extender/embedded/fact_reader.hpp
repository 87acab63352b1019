// FactReader: what Muster reads of the embedded cluster, by the code that reads a real one: watch
// events become news of kube/, and these become facts. One for each process of Muster, because it
// remembers what it has read. One thread at a time.
//
// Owners are not read one by one, as they are on a real cluster: they are among what is watched.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/contract/facts.hpp"
#include "kube/owners/declared_gangs.hpp"
#include "kube/watch/news_joiner.hpp"
#include "kube/write/pod_writer.hpp"
#include "sim/api_server/watch.hpp"

namespace muster::extender {

class FactReader {
 public:
  // What it is to be told.
  static constexpr sim::Kinds kWatched{.nodes = true,
                                       .pods = true,
                                       .pod_groups = true,
                                       .jobs = true,
                                       .others = true,
                                       .requests = true};

  // `warn`: of what is ignored, as it is read.
  explicit FactReader(std::optional<kube::GroupingSettings> grouping,
                      std::function<void(const std::string&)> warn = {});
  ~FactReader() = default;
  FactReader(const FactReader&) = delete;
  FactReader& operator=(const FactReader&) = delete;

  // In the order in which they are to be told, with those on gangs that only pods declare.
  std::vector<engine::Fact> Read(const sim::WatchEvent& event);
  std::vector<engine::Fact> SetGrouping(kube::GroupingSettings grouping);

 private:
  using Facts = std::vector<engine::Fact>;
  struct Owner {
    kube::OwnerKey key;
    std::string text;                          // with uid and namespace
    std::shared_ptr<const kube::Json> object;  // the same
    std::optional<int64_t> succeeded;          // of a Job
  };
  struct OwnerText {
    const std::string& json;  // as it was submitted
    const std::string& uid;
    std::optional<int64_t> succeeded;
  };
  using OwnerName = std::pair<std::string, cluster::ObjectKey>;  // kind, key

  void Tell(kube::NewsJoiner::Joined joined, Facts& facts);
  void TellSlice(kube::NewsJoiner::Joined joined, Facts& facts);
  void ReadOwners(Facts& facts);
  void ReadOwner(const OwnerName& name, const OwnerText& text, Facts& facts);
  void ForgetOwner(const OwnerName& name, Facts& facts);
  void ReadStorage(const sim::OtherRecord& record, bool gone, Facts& facts);
  // As kube::GroupingText.
  std::string GroupingText(const sim::PodRecord& record) const;
  kube::News NewsOf(const sim::WatchEvent& event) const;

  const std::function<void(const std::string&)> warn_;
  // No write overtakes an event here, so nothing is noted.
  const kube::PodVersions versions_;
  kube::NewsJoiner joiner_;
  kube::DeclaredGangs declared_;
  std::map<OwnerName, Owner> owners_;
  std::map<std::string, OwnerName> jobs_;  // by UID
  bool storage_readable_ = false;          // and told so
};

}  // namespace muster::extender
