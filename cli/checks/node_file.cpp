#include "cli/checks/node_file.hpp"

#include <utility>

#include "cli/tables/table.hpp"
#include "config/file.hpp"
#include "extender/embedded/node_list.hpp"
#include "sim/replay/trace.hpp"

namespace muster::cli {

using cluster::Result;

namespace {

// "180x8" or "180x8@…".
bool IsNodeCount(const std::string& text) {
  return text.substr(0, text.find('@')).find_first_not_of("0123456789x") == std::string::npos;
}

bool IsManifest(const std::string& file) {
  return file.ends_with(".yaml") || file.ends_with(".yml") || file.ends_with(".json");
}

}  // namespace

Result<std::vector<cluster::Node>> ReadNodes(const std::string& nodes, const std::string& command,
                                             std::ostream& err) {
  if (IsNodeCount(nodes)) return sim::ParseNodeCount(nodes);
  const Result<std::string> text = config::ReadFile(nodes, kMaxTraceBytes);
  if (!text.ok()) return text.error();
  if (!IsManifest(nodes)) return sim::ReadOpenbNodes(*text, nodes);
  Result<extender::NodeList> list = extender::ReadNodeList(*text, nodes);
  if (!list.ok()) return list.error();
  for (const std::string& warning : list->warnings)
    err << "muster " << command << ": ignored: " << Printable(warning) << "\n";
  return std::move(list->nodes);
}

}  // namespace muster::cli
