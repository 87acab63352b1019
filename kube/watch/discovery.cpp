#include "kube/watch/discovery.hpp"

#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "kube/api/refusal.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"

namespace muster::kube {

using cluster::Code;
using cluster::Error;
using cluster::Result;

namespace {

constexpr size_t kMaxDiscoveryBytes = size_t{4} * 1024 * 1024;

Result<Json> Read(ApiCaller& api, const std::string& path) {
  ApiRequest request;
  request.lane = Lane::kList;
  request.path = path;
  const Result<ApiReply> reply = api.Call(request);
  if (!reply.ok()) return reply.error().At(path);
  if (!reply->ok()) return ErrorOf(*reply).At(path);
  Result<Json> json = Json::Parse(reply->body, kMaxDiscoveryBytes, path);
  if (!json.ok()) return Error{Code::kInternal, json.error().ToString(), path};
  return json;
}

// Group versions that the server has, as "group/version".
Result<std::set<std::string>> ReadGroupVersions(ApiCaller& api) {
  const Result<Json> json = Read(api, "/apis");
  if (!json.ok()) return json.error();
  JsonProblems problems;
  const JsonView list(json->root(), "/apis", problems);
  const JsonView groups = list.Get("groups");
  std::set<std::string> found;
  groups.Items([&](const JsonView& group) {
    const JsonView versions = group.Get("versions");
    versions.Items([&](const JsonView& version) {
      found.insert(std::string(version.Get("groupVersion").Text()));
    });
  });
  if (!list.ExpectObject() || !problems.none()) {
    return Error{Code::kInternal, problems.first().message, problems.first().place};
  }
  return found;
}

// One resource in one version of its group.
struct Served {
  std::string version;
  bool has_status = false;
};

// Nothing: this version does not have the resource.
Result<std::optional<Served>> ReadVersion(ApiCaller& api, const std::string& group_version,
                                          const std::string& wanted) {
  const std::string path = "/apis/" + group_version;
  const Result<Json> json = Read(api, path);
  if (!json.ok()) {
    // Gone since /apis was read.
    if (json.error().code == Code::kNotFound) return std::optional<Served>();
    return json.error();
  }
  JsonProblems problems;
  const JsonView list(json->root(), path, problems);
  const JsonView resources = list.Get("resources");
  bool found = false;
  Served served{group_version.substr(group_version.find('/') + 1), false};
  resources.Items([&](const JsonView& resource) {
    const JsonView name = resource.Get("name");
    found = found || name.Text() == wanted;
    served.has_status = served.has_status || name.Text() == wanted + "/status";
  });
  if (!list.ExpectObject() || !problems.none()) {
    return Error{Code::kInternal, problems.first().message, problems.first().place};
  }
  return found ? std::optional<Served>(std::move(served)) : std::nullopt;
}

// The best version. Its failure is not answered with the next one: its objects would be read as
// another version's for as long as that lasts.
Result<std::optional<Served>> ReadBest(ApiCaller& api, std::string_view group,
                                       std::string_view resource,
                                       std::span<const std::string_view> versions,
                                       const std::set<std::string>& group_versions) {
  for (const std::string_view version : versions) {
    const std::string group_version = std::string(group) + "/" + std::string(version);
    if (version.empty() || group_versions.count(group_version) == 0) continue;
    Result<std::optional<Served>> served = ReadVersion(api, group_version, std::string(resource));
    if (!served.ok() || served->has_value()) return served;
  }
  return std::optional<Served>();
}

// "34+" is 34.
std::optional<int> LeadingNumber(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data() || number < 0) return std::nullopt;
  return number;
}

}  // namespace

Result<ServerVersion> DiscoverVersion(ApiCaller& api) {
  const Result<Json> json = Read(api, "/version");
  if (!json.ok()) return json.error();
  JsonProblems problems;
  const JsonView info(json->root(), "/version", problems);
  const std::optional<int> major = LeadingNumber(info.Get("major").Text());
  const std::optional<int> minor = LeadingNumber(info.Get("minor").Text());
  if (!major || !minor) {
    return Error{Code::kInternal, "expected a major and a minor version", "/version"};
  }
  return ServerVersion{*major, *minor};
}

Result<Discovery> DiscoverKinds(ApiCaller& api) {
  const Result<std::set<std::string>> group_versions = ReadGroupVersions(api);
  if (!group_versions.ok()) return group_versions.error();
  Discovery discovery;
  for (const PodGroupFlavourNames& known : PodGroupFlavours()) {
    const Result<std::optional<Served>> served = ReadBest(
        api, known.group, ResourceOfPodGroups(known.group), known.versions, *group_versions);
    if (!served.ok()) {
      discovery.unknown.push_back({"PodGroups of " + std::string(known.name), served.error()});
    } else if (served->has_value()) {
      discovery.podgroups.push_back(
          {known.flavour, std::string(known.group), (*served)->version, (*served)->has_status});
    }
  }
  for (const OptionalKindNames& known : OptionalKinds()) {
    const Result<std::optional<Served>> served =
        ReadBest(api, known.group, known.resource, known.versions, *group_versions);
    if (!served.ok()) {
      discovery.unknown.push_back({std::string(known.name), served.error()});
    } else if (served->has_value()) {
      discovery.others.push_back({known.kind, std::string(known.group) + "/" + (*served)->version});
    }
  }
  return discovery;
}

}  // namespace muster::kube
