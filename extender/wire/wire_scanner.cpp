#include "extender/wire/wire_scanner.hpp"

#include <utility>

#include "kube/json/json_view.hpp"
#include "kube/json/json_writer.hpp"

namespace muster::extender {

using cluster::Code;
using cluster::Error;
using cluster::Ok;
using cluster::Result;
using cluster::Status;

bool WireScanner::TakeNull() {
  constexpr std::string_view kNull = "null";
  SkipSpace();
  if (!text_.substr(at_).starts_with(kNull)) return false;
  at_ += kNull.size();
  return true;
}

std::optional<std::string_view> WireScanner::PlainText() {
  SkipSpace();
  if (at_ == text_.size() || text_[at_] != '"') return std::nullopt;
  const std::string_view rest = text_.substr(at_ + 1);
  const size_t length = kube::PlainJsonPrefix(rest);
  if (length == rest.size() || rest[length] != '"') return std::nullopt;
  at_ += length + 2;
  return rest.substr(0, length);
}

Result<std::string> WireScanner::Text() {
  if (const std::optional<std::string_view> plain = PlainText()) return std::string(*plain);
  if (at_ == text_.size() || text_[at_] != '"') return Expected("a text");
  const Result<kube::Json> json = Value("text");
  if (!json.ok()) return json.error();
  kube::JsonProblems problems;
  return std::string(kube::JsonView(json->root(), "text", problems).Text());
}

Result<kube::Json> WireScanner::Value(std::string_view name) {
  SkipSpace();
  Result<kube::Json> json = kube::Json::ParseAt(text_, at_, name);
  if (json.ok()) {
    value_begin_ = at_;
    at_ = json->end();
  }
  return json;
}

Result<kube::KeptObject> WireScanner::Object(std::span<const kube::Kept> fields,
                                             std::string_view kind) {
  SkipSpace();
  const Result<kube::Sifted> sifted = kube::Sift(text_.substr(at_), fields, kind);
  if (!sifted.ok()) return sifted.error();
  at_ += sifted->end;
  return kube::KeptObject::Parse(sifted->text, sifted->left_out ? &*sifted->left_out : nullptr,
                                 kind);
}

Status WireScanner::End() {
  SkipSpace();
  if (at_ == text_.size()) return Ok{};
  return Expected("nothing after the JSON value");
}

Error WireScanner::Expected(const char* what) const {
  return Error{Code::kInvalidArgument, std::string("not valid JSON: expected ") + what,
               "byte " + std::to_string(at_)};
}

Result<std::string> WireScanner::NextKey(std::set<std::string>& seen) {
  Result<std::string> key = Text();
  if (!key.ok()) return Expected("a key");
  if (!Take(':')) return Expected("a colon");
  for (char& c : *key) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  if (seen.insert(*key).second) return key;
  return Error{Code::kInvalidArgument, "is given twice", kube::PathStep(*key)};
}

}  // namespace muster::extender
