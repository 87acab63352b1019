#include "kube/decode/kept_object.hpp"

#include <string>
#include <utility>

#include "kube/decode/kept_fields.hpp"

namespace muster::kube {

using cluster::Code;
using cluster::Error;
using cluster::Result;

Result<KeptObject> KeptObject::Parse(std::string_view text, const Error* left_out,
                                     std::string_view name) {
  Result<Json> json = Json::Parse(text, JsonSieve::kMaxKept, name);
  if (json.ok()) {
    return KeptObject(std::move(*json), left_out == nullptr ? std::optional<Error>() : *left_out);
  }
  Error refused = json.error();
  // Where in what was kept is nowhere in what was sent.
  if (refused.place.starts_with("byte ")) refused.place = name;
  const Result<Sifted> sifted = Sift(text, IdentityFields(), name);
  if (!sifted.ok()) return refused;
  json = Json::Parse(sifted->text, JsonSieve::kMaxKept, name);
  if (!json.ok()) return refused;
  return KeptObject(std::move(*json), std::move(refused));
}

Result<KeptObject> KeptObject::Read(std::string_view text, std::span<const Kept> fields,
                                    std::string_view name, const DecodeOptions& options) {
  if (text.size() > options.max_bytes) {
    return Error{Code::kExhausted,
                 "JSON of " + std::to_string(text.size()) + " bytes, at most " +
                     std::to_string(options.max_bytes) + " are taken",
                 std::string(name)};
  }
  Result<Sifted> sifted = Sift(text, fields, name);
  if (!sifted.ok()) return sifted.error();
  const size_t rest = text.find_first_not_of(" \t\r\n", sifted->end);
  if (rest != std::string_view::npos) {
    return Error{Code::kInvalidArgument, "expected nothing after the JSON value",
                 "byte " + std::to_string(rest)};
  }
  Result<Json> json = Json::Parse(sifted->text, JsonSieve::kMaxKept, name);
  if (!json.ok()) return json.error();
  return KeptObject(std::move(*json), std::move(sifted->left_out));
}

}  // namespace muster::kube
