#include <catch2/catch.hpp>
#include <string>

#include "kube/decode/decode.hpp"

namespace muster::kube {
namespace {

cluster::Result<Job> Decode(const std::string& spec, const std::string& head = "") {
  DecodeOptions options;
  options.source = Source::kManifest;
  return DecodeJob("{" + head + R"("metadata":{"name":"j","namespace":"n"},"spec":{)" + spec + "}}",
                   options);
}

const std::string kTemplate = R"("template":{"metadata":{"labels":{"muster.dev/role":"worker",
    "scheduling.x-k8s.io/pod-group":"g"},"annotations":{"gpu-fraction":"0.25"}},
    "spec":{"schedulerName":"muster","containers":[{"resources":{"requests":{"cpu":"2"}}}]}})";

TEST_CASE("a Job says how many pods it has, and what they are like", "[kube][job]") {
  const cluster::Result<Job> job =
      Decode(R"("parallelism":4,"completions":8,"suspend":true,)" + kTemplate);
  REQUIRE(job.ok());
  CHECK(job->key.ToString() == "n/j");
  CHECK(job->parallelism == 4);
  CHECK(job->completions == 8);
  CHECK(job->suspend);
  CHECK(job->pod.key.ns == "n");
  CHECK(job->pod.key.name.empty());
  CHECK(job->pod.pod_group == "g");
  CHECK(job->pod.role == "worker");
  CHECK(job->pod.spec->gpus.each == cluster::GpuMilli(250));
  CHECK(job->pod.spec->requests.cpu.value() == 2000);
  CHECK(job->pod.spec->scheduler_name == "muster");
  CHECK(job->pod.defect.empty());
}

TEST_CASE("what a Job leaves out is filled in as Kubernetes does", "[kube][job]") {
  struct Case {
    std::string spec;
    int64_t parallelism;
    int64_t completions;
  };
  const Case c = GENERATE(values<Case>({{"", 1, 1},
                                        {R"("parallelism":5,)", 5, 5},
                                        {R"("completions":5,)", 1, 5},
                                        {R"("parallelism":9,"completions":5,)", 5, 5},
                                        {R"("parallelism":0,)", 0, 0}}));
  const cluster::Result<Job> job = Decode(c.spec + kTemplate);
  REQUIRE(job.ok());
  CHECK(job->parallelism == c.parallelism);
  CHECK(job->completions == c.completions);
}

TEST_CASE("a malformed Job is refused, a malformed template is a defect", "[kube][job]") {
  CHECK(Decode("").error().ToString() == "Job.spec.template: is missing");
  CHECK_THAT(Decode(R"("parallelism":-1,)" + kTemplate).error().ToString(),
             Catch::StartsWith("Job.spec.parallelism: expected a whole number from 0"));
  CHECK(Decode(kTemplate, R"("kind":"Job","apiVersion":"batch.volcano.sh/v1alpha1",)")
            .error()
            .ToString() == "Job.apiVersion: expected batch/v1");
  const cluster::Result<Job> job =
      Decode(R"("template":{"spec":{"containers":[{"resources":{"requests":{"cpu":"x"}}}]}})");
  REQUIRE(job.ok());
  CHECK_THAT(job->pod.defect,
             Catch::StartsWith("Job.spec.template.spec.containers[0].resources.requests.cpu: "));
}

}  // namespace
}  // namespace muster::kube
