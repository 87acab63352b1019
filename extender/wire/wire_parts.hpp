// What the messages of both directions have in common: lists of nodes by name and as objects, and
// victims by node. For the codec (wire.hpp) and for those who play kube-scheduler
// (embedded/caller_wire.hpp). Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/base/result.hpp"
#include "extender/wire/wire_scanner.hpp"
#include "extender/wire/wire_values.hpp"
#include "kube/json/json_view.hpp"
#include "kube/json/json_writer.hpp"

namespace muster::extender {

cluster::Status SkipValue(WireScanner& scan, const std::string& key);
cluster::Status ReadNames(WireScanner& scan, std::vector<std::string>& names);
// Each node of a NodeList: its name, and its bytes.
cluster::Status ReadObjects(WireScanner& scan, std::vector<std::string>& names,
                            std::vector<std::string_view>& objects);

std::size_t TotalSize(const std::vector<std::string>& texts);
void AppendNames(std::string& out, const std::vector<std::string>& names);
void AppendNodeList(std::string& out, const std::vector<std::string_view>& objects);

VictimsByNode ReadVictimsByNode(const kube::JsonView& map, NodesForm form);
// {"<node>":{"Pods":[{"UID":"…"},…],"NumPDBViolations":0},…}
void AppendVictims(kube::JsonWriter& json, const VictimsByNode& nodes);

}  // namespace muster::extender
