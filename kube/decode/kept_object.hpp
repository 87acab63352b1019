// KeptObject: what a sieve kept of one object, ready for its decoder. For the readers and decoders
// of kube/ only.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "cluster/base/result.hpp"
#include "kube/decode/decode.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_sieve.hpp"

namespace muster::kube {

class KeptObject {
 public:
  // `text` and `left_out` as a sieve tells them. Where what was kept is beyond what kube::Json
  // takes (a number of more than 64 bits, say), who the object is remains, and that is what was
  // left out.
  static cluster::Result<KeptObject> Parse(std::string_view text, const cluster::Error* left_out,
                                           std::string_view name);
  // All of `text` is one object of which `fields` are used. What kube::Json does not take is an
  // Error.
  static cluster::Result<KeptObject> Read(std::string_view text, std::span<const Kept> fields,
                                          std::string_view name, const DecodeOptions& options);

  const JsonNode& node() const { return json_.root(); }
  // The first part that was beyond a bound, or null.
  const cluster::Error* left_out() const { return left_out_ ? &*left_out_ : nullptr; }
  // `options`, with what was left out. Valid as long as this.
  DecodeOptions With(DecodeOptions options) const {
    options.left_out = left_out();
    return options;
  }

 private:
  KeptObject(Json json, std::optional<cluster::Error> left_out)
      : json_(std::move(json)), left_out_(std::move(left_out)) {}

  Json json_;
  std::optional<cluster::Error> left_out_;
};

}  // namespace muster::kube
