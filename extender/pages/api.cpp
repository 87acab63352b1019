#include "extender/pages/api.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "extender/embedded/manifests.hpp"
#include "extender/embedded/object_json.hpp"
#include "extender/pages/api_json.hpp"
#include "extender/pages/queue_pages.hpp"

namespace muster::extender {
namespace {

using cluster::Code;
using cluster::Error;
using cluster::ObjectKey;
using cluster::Result;
using cluster::Status;

constexpr std::string_view kGangsPrefix = "/v1/gangs/";
constexpr std::string_view kNodesPrefix = "/v1/nodes/";
constexpr std::string_view kObjectsPrefix = "/v1/objects/";
constexpr std::size_t kMaxName = 256;  // of a file, in messages

http::Response Text(std::string body) {
  return {.status = 200,
          .body = std::move(body),
          .content_type = "text/plain; charset=utf-8",
          .close = false,
          .headers = {}};
}

http::Response JsonAnswer(std::string body) {
  http::Response response;
  response.body = std::move(body);
  return response;
}

// The parts of a path after `prefix`, by slashes.
std::vector<std::string> Parts(std::string_view path, std::string_view prefix) {
  std::vector<std::string> parts;
  path.remove_prefix(std::min(prefix.size(), path.size()));
  while (true) {
    const std::size_t slash = path.find('/');
    parts.emplace_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return parts;
    path.remove_prefix(slash + 1);
  }
}

Status DeleteObject(sim::ApiServer& api, const std::vector<std::string>& parts) {
  const sim::Actor user = sim::Actor::kUser;
  if (parts.size() == 2 && parts[0] == "nodes") return api.DeleteNode(user, parts[1]);
  if (parts.size() == 3) {
    const ObjectKey key{parts[1], parts[2]};
    if (parts[0] == "pods") return api.DeletePod(user, engine::PodRef{key, {}});
    if (parts[0] == "podgroups") return api.DeletePodGroup(user, key);
    if (parts[0] == "jobs") return api.DeleteJob(user, key);
  }
  return Error{Code::kNotFound,
               "expected /v1/objects/nodes/NAME, or pods, podgroups or jobs with NAMESPACE/NAME",
               ""};
}

int StatusOf(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
      return 400;
    case Code::kNotFound:
      return 404;
    case Code::kConflict:
      return 409;
    case Code::kForbidden:
      return 403;
    case Code::kUnavailable:
      return 503;
    case Code::kExhausted:
      return 413;
    case Code::kIo:
    case Code::kInternal:
      break;
  }
  return 500;
}

// What RBAC knows as rights of group muster.dev.
kube::AccessAttributes ToList(const std::string& resource, const std::string& ns = {}) {
  return {ns, "list", "muster.dev", resource, "", ""};
}
kube::AccessAttributes ToGet(const std::string& resource, const ObjectKey& key) {
  return {key.ns, "get", "muster.dev", resource, "", key.name};
}

// The API server is asked about so many namespaces for one page.
constexpr std::size_t kMostNamespaces = 64;

// Of these namespaces, those whose gangs the caller may list. Where these are none: `refused`, why
// they may not list all.
Result<std::vector<std::string>> Readable(const CallerAccess& access, const Caller& caller,
                                          const Error& refused,
                                          const std::vector<std::string>& namespaces) {
  if (namespaces.size() > kMostNamespaces) {
    Error error = refused;
    error.message += "; or name one of the " + std::to_string(namespaces.size()) +
                     " namespaces that have gangs (-n NAMESPACE)";
    return error;
  }
  std::vector<std::string> readable;
  for (const std::string& ns : namespaces) {
    const Status may = access.MayRead(caller, ToList("gangs", ns));
    if (!may.ok() && may.error().code != Code::kForbidden) return may.error();
    if (may.ok()) readable.push_back(ns);
  }
  if (!readable.empty()) return readable;
  Error error = refused;
  error.message += "; or no namespace whose gangs you may list has one now: name it (-n NAMESPACE)";
  return error;
}

// Pages that are worked out at a time: each may take a part of a processor from Filter.
class Rendering {
 public:
  explicit Rendering(std::counting_semaphore<>& places) : places_(places) { places_.acquire(); }
  ~Rendering() { places_.release(); }
  Rendering(const Rendering&) = delete;
  Rendering& operator=(const Rendering&) = delete;

 private:
  std::counting_semaphore<>& places_;
};

Error Stopped() { return Error{Code::kUnavailable, "the embedded cluster has stopped", ""}; }

}  // namespace

http::Response FailedAnswer(const Error& error) {
  http::Response response;
  response.status = StatusOf(error.code);
  response.body = ErrorJson(error);
  return response;
}

// Nothing is answered to a page in a browser that may be another site's.
void ApiHandlers::Guard(http::Server& server, const std::string& method, const std::string& path,
                        http::Handler answer) const {
  server.HandleInTurn(method, path,
                      [this, answer = std::move(answer)](const http::Request& request) {
                        const Status may = ports_.access.MayCall(CallerOf(request));
                        return may.ok() ? answer(request) : FailedAnswer(may.error());
                      });
}

void ApiHandlers::Mount(http::Server& server) {
  server.Handle("GET", "/healthz", [](const http::Request&) { return Text("ok\n"); });
  server.Handle("GET", "/readyz", [this](const http::Request&) { return Ready(); });
  Guard(server, "GET", "/metrics", [this](const http::Request&) {
    const Rendering rendering(renderings_);
    http::Response page = Text(ports_.metrics() + QueueMetrics(ports_.scheduler.Queues()));
    page.content_type = "text/plain; version=0.0.4; charset=utf-8";
    return page;
  });
  Guard(server, "GET", "/v1/gangs", [this](const http::Request& r) { return Gangs(r); });
  Guard(server, "GET", "/v1/gangs/*", [this](const http::Request& r) { return Gang(r); });
  MountList(server, "queues", [this](const http::Request&) {
    return JsonAnswer(QueuesJson(ports_.scheduler.Queues()));
  });
  MountList(server, "nodes", [this](const http::Request&) {
    return JsonAnswer(NodesJson(ports_.scheduler.Nodes(), ports_.now()));
  });
  Guard(server, "GET", "/v1/nodes/*", [this](const http::Request& r) { return Links(r); });
  MountList(server, "topology", [this](const http::Request& r) { return Fabric(r); });
  MountList(server, "policy", [this](const http::Request&) {
    http::Response page = Text(ports_.policy());
    page.content_type = "application/yaml";
    return page;
  });
  Guard(server, "POST", "/v1/whatif", [this](const http::Request& r) { return WhatIf(r); });
  if (ports_.cluster == nullptr) return;
  Guard(server, "POST", "/v1/manifests", [this](const http::Request& r) { return Create(r); });
  Guard(server, "GET", "/v1/objects/*", [this](const http::Request& r) { return List(r); });
  Guard(server, "DELETE", "/v1/objects/*", [this](const http::Request& r) { return Delete(r); });
}

// A page of the whole cluster, named as the resource that its readers may list.
void ApiHandlers::MountList(http::Server& server, const std::string& resource,
                            http::Handler answer) const {
  Guard(server, "GET", "/v1/" + resource,
        [this, resource, answer = std::move(answer)](const http::Request& request) {
          const Status may = ports_.access.MayRead(CallerOf(request), ToList(resource));
          if (!may.ok()) return FailedAnswer(may.error());
          const Rendering rendering(renderings_);
          return answer(request);
        });
}

http::Response ApiHandlers::Ready() const {
  const std::string why = ports_.not_ready();
  if (why.empty()) return Text("ok\n");
  http::Response response = Text(why + "\n");
  response.status = 503;
  return response;
}

http::Response ApiHandlers::Fabric(const http::Request& request) const {
  int64_t gpus = 0;
  if (const auto slots = request.query.find("slots"); slots != request.query.end()) {
    const std::string& text = slots->second;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), gpus);
    if (error != std::errc() || end != text.data() + text.size() || gpus < 1) {
      return FailedAnswer({Code::kInvalidArgument,
                           "expected a number of GPUs from 1 on, found \"" + text + "\"",
                           "?slots"});
    }
  }
  return JsonAnswer(FabricJson(ports_.scheduler.Fabric(gpus)));
}

http::Response ApiHandlers::Links(const http::Request& request) const {
  const std::vector<std::string> parts = Parts(request.path, kNodesPrefix);
  if (parts.size() != 2 || parts[1] != "topology")
    return FailedAnswer({Code::kNotFound, "expected /v1/nodes/NAME/topology", ""});
  const Status may = ports_.access.MayRead(CallerOf(request), ToGet("nodes", {"", parts[0]}));
  if (!may.ok()) return FailedAnswer(may.error());
  if (const auto links = ports_.scheduler.LinksOf(parts[0])) {
    if (!links->facts.machine.gpus.empty()) return JsonAnswer(LinksJson(links->facts));
    return FailedAnswer({Code::kNotFound, "node " + parts[0] + " has no GPUs", ""});
  }
  return FailedAnswer({Code::kNotFound, "there is no node " + parts[0], ""});
}

http::Response ApiHandlers::Gangs(const http::Request& request) const {
  const Caller caller = CallerOf(request);
  const auto ns = request.query.find("namespace");
  const bool of_all = ns == request.query.end();
  const Status may =
      ports_.access.MayRead(caller, ToList("gangs", of_all ? std::string() : ns->second));
  if (!may.ok() && (!of_all || may.error().code != Code::kForbidden))
    return FailedAnswer(may.error());
  std::vector<engine::GangView> gangs;
  if (of_all && may.ok()) {
    const Rendering rendering(renderings_);
    return JsonAnswer(GangsJson(ports_.scheduler.Gangs(), ports_.now()));
  }
  std::vector<std::string> namespaces;
  if (may.ok()) {
    namespaces = {ns->second};
  } else {
    Result<std::vector<std::string>> readable =
        Readable(ports_.access, caller, may.error(), ports_.scheduler.GangNamespaces());
    if (!readable.ok()) return FailedAnswer(readable.error());
    namespaces = *std::move(readable);
  }
  const Rendering rendering(renderings_);
  for (const std::string& one : namespaces) {
    std::vector<engine::GangView> of_one = ports_.scheduler.Gangs(&one);
    std::move(of_one.begin(), of_one.end(), std::back_inserter(gangs));
  }
  return JsonAnswer(GangsJson(gangs, ports_.now()));
}

http::Response ApiHandlers::Gang(const http::Request& request) const {
  const std::vector<std::string> parts = Parts(request.path, kGangsPrefix);
  if (parts.size() != 2)
    return FailedAnswer({Code::kNotFound, "expected /v1/gangs/NAMESPACE/NAME", ""});
  const cluster::ObjectKey asked{parts[0], parts[1]};
  const Caller caller = CallerOf(request);
  const Status may = ports_.access.MayRead(caller, ToGet("gangs", asked));
  if (!may.ok()) return FailedAnswer(may.error());
  std::optional<engine::GangView> gang = ports_.scheduler.FindGang(asked);
  if (!gang) {
    gang = ports_.scheduler.FindGangOfOwner(asked);
    // A right may name single gangs: without one for this gang, the caller must not learn its name.
    const Status that = gang ? ports_.access.MayRead(caller, ToGet("gangs", gang->id.key)) : may;
    if (!that.ok() && that.error().code != Code::kForbidden) return FailedAnswer(that.error());
    if (!that.ok())
      return FailedAnswer({Code::kNotFound, "there is no gang " + asked.ToString(), ""});
  }
  if (!gang) {
    // Nor names that are near, without the right to list them.
    const bool of_namespace = ports_.access.MayRead(caller, ToList("gangs", asked.ns)).ok();
    const bool of_all = of_namespace && ports_.access.MayRead(caller, ToList("gangs")).ok();
    const std::string help = of_namespace ? ports_.scheduler.HelpFor(asked, of_all) : "";
    return FailedAnswer({Code::kNotFound, "there is no gang " + asked.ToString() + help, ""});
  }
  const cluster::ObjectKey& key = gang->id.key;
  const cluster::Time now = ports_.now();
  const Rendering rendering(renderings_);
  const auto fabric = ports_.scheduler.FabricOf(key, now);
  return JsonAnswer(GangJson(*gang, fabric.value_or(engine::GangFabric()), now,
                             ports_.scheduler.TurnOf(key), ports_.scheduler.ChangesFor(key, now),
                             ports_.scheduler.NobodyMakesWay(key, now)));
}

http::Response ApiHandlers::WhatIf(const http::Request& request) {
  Result<std::string> page = what_if_.Answer(request);
  if (!page.ok()) return FailedAnswer(page.error());
  return JsonAnswer(*std::move(page));
}

http::Response ApiHandlers::Create(const http::Request& request) const {
  if (const Status says = SaysJsonOrYaml(request); !says.ok()) return FailedAnswer(says.error());
  const auto name = request.query.find("name");
  const std::string file =
      name == request.query.end() ? "manifest" : name->second.substr(0, kMaxName);
  PriorityClasses classes;
  int64_t version = 0;
  ports_.cluster->Do([&](sim::ApiServer& api) {
    classes = ClassesIn(api);
    version = api.resource_version();
  });
  const Result<Manifests> manifests =
      ReadManifests(request.body, file, Malformed::kRefused, std::move(classes), version);
  if (!manifests.ok()) return FailedAnswer(manifests.error());
  if (manifests->objects.empty()) {
    return FailedAnswer({Code::kInvalidArgument, "expected at least one object, found none", file});
  }
  Status created = Stopped();
  ports_.cluster->Do(
      [&](sim::ApiServer& api) { created = CreateObjects(api, manifests->objects); });
  if (!created.ok()) return FailedAnswer(created.error());
  return JsonAnswer(CreatedJson(*manifests));
}

http::Response ApiHandlers::List(const http::Request& request) const {
  const std::string kind = request.path.substr(kObjectsPrefix.size());
  Result<std::string> page = Stopped();
  ports_.cluster->Do([&](sim::ApiServer& api) {
    if (std::optional<std::string> json = ObjectsJson(api, kind)) {
      page = *std::move(json);
    } else {
      page = Error{Code::kNotFound, "expected nodes, pods, podgroups, jobs or events", ""};
    }
  });
  if (!page.ok()) return FailedAnswer(page.error());
  return JsonAnswer(*std::move(page));
}

http::Response ApiHandlers::Delete(const http::Request& request) const {
  const std::vector<std::string> parts = Parts(request.path, kObjectsPrefix);
  Status deleted = Stopped();
  ports_.cluster->Do([&](sim::ApiServer& api) { deleted = DeleteObject(api, parts); });
  if (!deleted.ok()) return FailedAnswer(deleted.error());
  return JsonAnswer("{}\n");
}

}  // namespace muster::extender
