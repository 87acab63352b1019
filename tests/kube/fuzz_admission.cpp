// Any bytes: a review is answered or refused. Every answer is a review that allows; every patch is
// JSON.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cluster/base/check.hpp"
#include "kube/admission/admission_review.hpp"
#include "kube/json/json.hpp"

namespace muster::kube {
namespace {

void CheckAnswer(const std::string& body, bool changed) {
  const auto json = Json::Parse(body, body.size(), "answer");
  MUSTER_CHECK(json.ok());
  JsonProblems problems;
  const JsonView root(json->root(), "answer", problems);
  const JsonView response = root.Get("response");
  const JsonView patch = response.Get("patch");
  MUSTER_CHECK(response.Get("allowed").Flag(false));
  MUSTER_CHECK(!response.Get("uid").Text().empty());
  MUSTER_CHECK(patch.present() == changed);
  MUSTER_CHECK(problems.none());
}

// The decision itself, on any object.
void CheckPatch(std::string_view text, TakenPods taken) {
  const auto json = Json::Parse(text, size_t{1} << 20, "pod");
  if (!json.ok()) return;
  JsonProblems problems;
  const JsonView pod(json->root(), "pod", problems);
  const std::string patch = PatchOf(pod, {taken, "muster", "muster-system"});
  if (patch.empty() || !problems.none()) return;
  const auto operations = Json::Parse(patch, patch.size(), "patch");
  MUSTER_CHECK(operations.ok());
}

}  // namespace
}  // namespace muster::kube

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  namespace kube = muster::kube;
  for (const kube::TakenPods taken : {kube::TakenPods::kGpu, kube::TakenPods::kAll}) {
    const auto answer = kube::AnswerReview(text, {taken, "muster", "muster-system"});
    if (answer.ok()) kube::CheckAnswer(answer->body, answer->changed);
    kube::CheckPatch(text, taken);
  }
  return 0;
}
