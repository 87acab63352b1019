#include "extender/doctor/doctor_reader.hpp"

#include <utility>

#include "http/messages/url.hpp"
#include "kube/json/json.hpp"

namespace muster::extender {

using cluster::Code;
using cluster::Error;
using cluster::Ok;
using cluster::Result;
using cluster::Status;
using kube::Json;
using kube::JsonProblems;
using kube::JsonView;

namespace {

constexpr size_t kMaxAnswer = size_t{64} << 20U;
constexpr int kMaxPages = 1'000;
constexpr const char* kPage = "limit=500";

Status ReadObject(const std::string& body, const std::string& path,
                  const std::function<void(const JsonView&)>& read) {
  const Result<Json> json = Json::Parse(body, kMaxAnswer, path);
  if (!json.ok()) return json.error();
  JsonProblems problems;
  const JsonView object(json->root(), path, problems);
  read(object);
  if (!problems.none()) return problems.first();
  return Ok{};
}

}  // namespace

Result<std::string> DoctorReader::Call(const kube::ApiRequest& request) const {
  const std::string path = request.path;
  Result<kube::ApiReply> reply = api_.Call(request);
  if (!reply.ok()) return Error{Code::kUnavailable, reply.error().ToString(), path};
  if (reply->ok()) return std::move(reply->body);
  if (reply->status == 404) return Error{Code::kNotFound, "does not exist", path};
  if (reply->status == 401 || reply->status == 403)
    return Error{Code::kForbidden, "you may not read it", path};
  return Error{Code::kUnavailable,
               "the API server answered " + std::to_string(reply->status) + ": " +
                   reply->body.substr(0, 300),
               path};
}

Result<std::string> DoctorReader::Get(const std::string& path) const {
  return Call({.lane = kube::Lane::kList, .path = path});
}

Result<std::string> DoctorReader::Post(const std::string& path, std::string body) const {
  return Call({.method = kube::Method::kPost,
               .lane = kube::Lane::kList,
               .path = path,
               .body = std::move(body)});
}

Status DoctorReader::Read(const std::string& path,
                          const std::function<void(const JsonView&)>& read) const {
  const Result<std::string> body = Get(path);
  if (!body.ok()) return body.error();
  return ReadObject(*body, path, read);
}

Status DoctorReader::List(const std::string& path, const std::string& query,
                          const std::function<void(const JsonView&)>& read) const {
  std::string next;
  for (int page = 0; page < kMaxPages; ++page) {
    std::string target = path + "?" + kPage;
    if (!query.empty()) target += "&" + query;
    if (!next.empty()) target += "&continue=" + http::PercentEncoded(next);
    next.clear();
    const Result<std::string> body = Get(target);
    if (!body.ok()) return body.error();
    const Status fine = ReadObject(*body, path, [&](const JsonView& list) {
      const JsonView items = list.Get("items");
      items.Items(read);
      const JsonView metadata = list.Get("metadata");
      next = metadata.Get("continue").Text();
    });
    if (!fine.ok()) return fine.error();
    if (next.empty()) return Ok{};
  }
  return Error{Code::kExhausted, "the list does not end", path};
}

Finding DoctorReader::Unread(const std::string& check, const Error& error) {
  return {Finding::Kind::kUnknown, check, error.ToString(),
          error.code == Code::kForbidden ? "ask as somebody who may read it" : "try again"};
}

}  // namespace muster::extender
