// A GroupingBook whose owners a test reads: pods of Jobs, and answers of an API server. One test,
// one thread.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>

#include "config/policies/grouping_file.hpp"
#include "kube/decode/decode.hpp"
#include "kube/json/json.hpp"
#include "kube/owners/grouping_book.hpp"

namespace muster::kube {

inline std::shared_ptr<const Json> OwnerJson(const std::string& json) {
  auto parsed = Json::Parse(json, size_t{1} << 20U, "object");
  REQUIRE(parsed.ok());
  return std::make_shared<const Json>(*std::move(parsed));
}

// What an API server has, read without leaving anything out.
inline OwnerAnswer ReadAs(const std::string& json) {
  return {OwnerAnswer::Kind::kRead, {json, OwnerJson(json)}, {}};
}

inline std::string JobJson(const std::string& name, int parallelism, int version = 1) {
  const std::string count = std::to_string(parallelism);
  return R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":")" + name +
         R"(","namespace":"team","uid":"uid-)" + name + R"(","resourceVersion":")" +
         std::to_string(version) + R"("},"spec":{"completionMode":"Indexed","parallelism":)" +
         count + R"(,"completions":)" + count + "}}";
}

struct PodOptions {
  std::string job = "train";
  bool gated = false;
  std::string node = {};
  std::string scheduler = "muster";
  std::string phase = "Pending";
  std::string bound_in = {};
  bool handed_over = false;
};

inline std::string PodJson(const std::string& name, const PodOptions& options) {
  return R"({"metadata":{"name":")" + name + R"(","namespace":"team","uid":"uid-)" + name +
         R"(","resourceVersion":"7",)" +
         (options.handed_over ? R"("annotations":{"muster.dev/epoch":"1"},)" : "") +
         (options.bound_in.empty()
              ? ""
              : R"("annotations":{"muster.dev/bound-in":")" + options.bound_in + "\"},") +
         R"("ownerReferences":[{"apiVersion":"batch/v1","kind":"Job",)" + R"("name":")" +
         options.job + R"(","uid":"uid-)" + options.job +
         R"(","controller":true}]},"spec":{"schedulerName":")" + options.scheduler + "\"" +
         (options.node.empty() ? "" : R"(,"nodeName":")" + options.node + "\"") +
         (options.gated ? R"(,"schedulingGates":[{"name":"muster.dev/gang"}])" : "") +
         R"(,"containers":[{"name":"main"}]},"status":{"phase":")" + options.phase + "\"}}";
}

// A book with the rules that ship, at a time that the test moves.
struct BookWorld {
  explicit BookWorld(OwnerTable::Options options = {}, GroupingBook::Slice slice = {})
      : book(options, slice) {
    book.Set({config::ShippedGroupingRules(), {"muster"}});
  }

  // "team/a: alone", "team/a: job:train… of 4", "team/a: defect …", or "withheld".
  std::string See(const std::string& name, const PodOptions& options = {}) {
    const std::string json = PodJson(name, options);
    auto pod = DecodePod(json);
    REQUIRE(pod.ok());
    const std::string text = GroupingText(OwnerJson(json)->root(), *pod);
    REQUIRE_FALSE(text.empty());
    book.Keep(pod->uid, std::make_shared<const std::string>(text));
    const auto told = book.Join(*pod, now);
    return told ? Shown(*told) : "withheld";
  }
  static std::string Shown(const cluster::Pod& pod) {
    if (!pod.defect.empty()) return pod.key.name + ": defect " + pod.defect;
    if (pod.pod_group.empty()) return pod.key.name + ": alone";
    return pod.key.name + ": " + pod.pod_group.substr(0, pod.pod_group.find('~')) + " of " +
           std::to_string(pod.declared_min_member);
  }
  // What the book reports when the next read gets this answer.
  std::string Answer(OwnerAnswer answer) {
    const auto request = book.owners().Take(now);
    REQUIRE(request);
    read = request->path;
    ++reads;
    const GroupingBook::Told told = book.Learn(request->key, std::move(answer), now);
    std::string text;
    for (const auto* pods : {&told.first, &told.pods}) {
      for (const cluster::Pod& pod : *pods) text += Shown(pod) + ";";
    }
    for (const std::string& warning : told.warnings) text += "! " + warning + ";";
    return text;
  }
  std::string Answer(const std::string& object) { return Answer(ReadAs(object)); }

  GroupingBook book;
  cluster::Time now = cluster::Time(1'000'000);
  std::string read;
  int reads = 0;
};

}  // namespace muster::kube
