// The names of gangs without a PodGroup: kind and name of the owner, a part of it where it makes
// several gangs, and a digest that tells them from the next ones of those names:
//
//   job:train~1f8e0a2c        jobset:train:workers~03b1c2d9
//
// No PodGroup has such a name: ':' and '~' are in no name of an object. Pure, any thread.
#pragma once

#include <string>
#include <string_view>

namespace muster::cluster {

// `kind` in lower case; `part` may be empty.
std::string OwnedGangName(std::string_view kind, std::string_view owner, std::string_view part,
                          std::string_view digest);

// Whether such a gang is meant by "train", "job:train" or, for a part, "jobset:train:workers".
bool IsGangOfOwner(std::string_view gang, std::string_view asked);

}  // namespace muster::cluster
