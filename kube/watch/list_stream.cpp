#include "kube/watch/list_stream.hpp"

#include <utility>

#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"

namespace muster::kube {

using cluster::Code;
using cluster::Error;
using cluster::Result;

namespace {

// A continuation is a version and a key of etcd.
constexpr size_t kToken = size_t{64} << 10;
constexpr Kept kMeta[] = {{.name = "resourceVersion"}, {.name = "continue", .longest = kToken}};
constexpr Kept kList[] = {
    {.name = "metadata", .kind = Kept::Kind::kObject, .members = kMeta},
    {.name = "items", .kind = Kept::Kind::kElements},
};

}  // namespace

ListStream::ListStream(std::span<const Kept> fields, std::string_view kind, std::string name,
                       Take take)
    : name_(std::move(name)),
      take_(std::move(take)),
      sieve_({.root = {.kind = Kept::Kind::kObject, .members = kList},
              .element = fields,
              .name = kind},
             [this](std::string_view text, const Error* left_out) {
               return TakeObject(text, left_out);
             }) {}

bool ListStream::TakeObject(std::string_view text, const Error* left_out) {
  const std::string place = name_ + ".items[" + std::to_string(items_++) + "]";
  const Result<KeptObject> object = KeptObject::Parse(text, left_out, place);
  if (!object.ok()) {
    problem_ = object.error();
    return false;
  }
  JsonProblems problems;
  if (!JsonView(object->node(), place, problems).ExpectObject()) {
    problem_ = problems.first();
    return false;
  }
  take_(*object);
  return true;
}

bool ListStream::Feed(std::string_view bytes) {
  begun_ = begun_ || !bytes.empty();
  if (problem_) return false;
  if (!sieve_.whole() && !sieve_.Feed(bytes)) {
    if (!problem_) problem_ = sieve_.problem();
    return false;
  }
  if (bytes.find_first_not_of(" \t\r\n") == std::string_view::npos) return true;
  problem_ = Error{Code::kInvalidArgument, "expected nothing after the JSON value", name_};
  return false;
}

Result<ListStream::Page> ListStream::End() {
  if (!problem_ && !sieve_.End()) problem_ = sieve_.problem();
  if (problem_) return *problem_;
  const Result<Json> json = Json::Parse(sieve_.around(), JsonSieve::kMaxKept, name_);
  if (!json.ok()) return json.error();
  JsonProblems problems;
  const JsonView list(json->root(), name_, problems);
  if (!list.ExpectObject()) return problems.first();
  const JsonView items = list.Get("items");
  items.Items([](const JsonView&) {});
  const JsonView metadata = list.Get("metadata");
  const JsonView version = metadata.Get("resourceVersion");
  Page page{std::string(version.RequiredText()), std::string(metadata.Get("continue").Text())};
  if (!problems.none()) return problems.first();
  return page;
}

}  // namespace muster::kube
