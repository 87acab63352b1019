#include "cli/reach/server_pages.hpp"

#include "cli/reach/reach.hpp"
#include "http/messages/url.hpp"

namespace muster::cli {

using cluster::Code;
using cluster::Error;
using cluster::Result;

bool IsPathText(const std::string& text) { return !text.empty() && http::IsUnreserved(text); }

Flag NamespaceFlag() {
  return {"--namespace", "NS", "of the gang (default: the kubeconfig's, else default)", "-n"};
}

Result<cluster::ObjectKey> GangNamed(const Args& args, const std::string& word,
                                     const std::string& otherwise) {
  const std::size_t slash = word.find('/');
  const std::string ns =
      slash == std::string::npos ? args.Text("--namespace", otherwise) : word.substr(0, slash);
  const std::string name = slash == std::string::npos ? word : word.substr(slash + 1);
  // Names of gangs without a PodGroup have colons, which a path may have (RFC 3986 §3.3).
  std::string without_colons = name;
  std::erase(without_colons, ':');
  if (!IsPathText(ns) || !IsPathText(without_colons))
    return Error{Code::kInvalidArgument, "\"" + word + "\" is no NAMESPACE/NAME", ""};
  if (args.Text("--namespace", ns) != ns) {
    return Error{Code::kInvalidArgument,
                 "\"" + word + "\" is not in --namespace " + args.Text("--namespace"), ""};
  }
  return cluster::ObjectKey{ns, name};
}

int Show(const CliStreams& streams, OutputFormat format, const std::string& body,
         const PageTable& table) {
  if (format == OutputFormat::kJson || format == OutputFormat::kYaml) {
    streams.out << InFormat(format, body);
    return kExitOk;
  }
  const Result<std::string> text = table(body, format == OutputFormat::kWide ? 0 : streams.width);
  if (!text.ok()) return Fail(streams, text.error().message);
  streams.out << *text;
  return kExitOk;
}

int ShowPage(const Args& args, const CliStreams& streams, const std::string& command,
             const std::string& path, const PageTable& table) {
  const Result<OutputFormat> format = FormatOf(args);
  if (!format.ok()) return Misused(streams, command, format.error().message);
  const auto muster = ReachMuster(args, streams);
  if (!muster.ok()) return Misused(streams, command, muster.error().ToString());
  return ShowPageOf(**muster, *format, streams, path, table);
}

int ShowPageOf(MusterCaller& muster, OutputFormat format, const CliStreams& streams,
               const std::string& path, const PageTable& table) {
  const Result<std::string> body = muster.Get(path);
  if (!body.ok()) return Fail(streams, body.error().message);
  return Show(streams, format, *body, table);
}

}  // namespace muster::cli
