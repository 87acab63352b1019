#include "cluster/owned_gang_name.hpp"

namespace muster::cluster {

std::string OwnedGangName(std::string_view kind, std::string_view owner, std::string_view part,
                          std::string_view digest) {
  std::string name;
  name.append(kind).append(":").append(owner);
  if (!part.empty()) name.append(":").append(part);
  return name.append("~").append(digest);
}

bool IsGangOfOwner(std::string_view gang, std::string_view asked) {
  const size_t kind = gang.find(':');
  const size_t digest = gang.rfind('~');
  if (kind == std::string_view::npos || digest == std::string_view::npos) return false;
  const std::string_view whole = gang.substr(0, digest);  // jobset:train:workers
  const size_t part = whole.find(':', kind + 1);
  const std::string_view owner = whole.substr(0, part);  // jobset:train
  return asked == whole || asked == owner || asked == owner.substr(kind + 1);
}

}  // namespace muster::cluster
