// What Muster would refuse or ignore of what a manifest says about gangs. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "cluster/base/result.hpp"
#include "config/yaml/yaml_tree.hpp"

namespace muster::cli {

// Annotations and labels with muster.dev/ that Muster does not know, at any depth of the object;
// their places are paths in it.
std::vector<cluster::Error> UnknownMusterKeys(const config::YamlNode& object);

// An annotation or a label says how large the gang of its pods is, or that they are in none.
// `object`: of Kubernetes', or a pod template; null says nothing.
bool SaysGang(const config::YamlNode* object);

// What the object says of the gang of its pods and does not count, and what does, by the grouping
// rules that Muster ships; empty: nothing, or an annotation says it.
std::string UnheededOf(const config::YamlNode& object);

// What is wrong with what the object says about the gang of its pods, by the grouping rules that
// Muster ships; the place is the metadata that says it. `pod`, `job`: the paths to what is a pod
// and to the Job that makes them; empty: the object, null: there is no Job. Nothing where it says
// nothing.
std::vector<cluster::Error> GangFaults(const config::YamlNode& object, const char* pod,
                                       const char* job);

}  // namespace muster::cli
