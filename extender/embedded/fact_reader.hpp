// FactReader: what Muster reads of the embedded cluster, by the code that reads a real one: watch
// events become news of kube/, and these become facts. One for each process of Muster, because it
// remembers what it has read. One thread at a time.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "engine/facts.hpp"
#include "kube/news_joiner.hpp"
#include "kube/pod_writer.hpp"
#include "sim/watch.hpp"

namespace muster::extender {

class FactReader {
 public:
  // What it is to be told.
  static constexpr sim::Kinds kWatched{
      .nodes = true, .pods = true, .pod_groups = true, .others = true};

  // `warn`: of what is ignored, as it is read.
  explicit FactReader(std::function<void(const std::string&)> warn = {})
      : warn_(std::move(warn)), joiner_(versions_) {}
  ~FactReader() = default;
  FactReader(const FactReader&) = delete;
  FactReader& operator=(const FactReader&) = delete;

  std::vector<engine::Fact> Read(const sim::WatchEvent& event);

 private:
  const std::function<void(const std::string&)> warn_;
  // No write overtakes an event here, so nothing is noted.
  const kube::PodVersions versions_;
  kube::NewsJoiner joiner_;
};

}  // namespace muster::extender
