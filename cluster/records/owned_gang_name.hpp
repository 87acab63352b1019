// The names of gangs without a PodGroup: kind and name of the owner, a part of it where it makes
// several gangs, and a digest that tells them from the next ones of those names:
//
//   job:train~1f8e0a2c        jobset:train:workers~03b1c2d9
//
// No PodGroup has such a name: ':', '+' and '~' are in no name of an object. Pure, any thread.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace muster::cluster {

// `kind` in lower case; `part` may be empty.
std::string OwnedGangName(std::string_view kind, std::string_view owner, std::string_view part,
                          std::string_view digest);

// Eight digits that differ where the texts do.
std::string GangDigest(std::initializer_list<std::string_view> texts);

// Gangs that start together are one: "master+worker", or "master+31~5d0c77ab" where that would be
// too long. `names` are distinct and ordered.
std::string NameOfTogether(const std::vector<std::string>& names);
// Whether it is such a name, and `asked` one of those that it has.
bool IsTogetherWith(std::string_view gang, std::string_view asked);

// Whether such a gang is meant by "train", "job:train" or, for a part, "jobset:train:workers".
bool IsGangOfOwner(std::string_view gang, std::string_view asked);

}  // namespace muster::cluster
