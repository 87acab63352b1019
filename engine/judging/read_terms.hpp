// What a gang's PodGroup, or its pods, say beside its size: see GroupTerms (internal to engine/).
#pragma once

#include "engine/gangs/gang.hpp"

namespace muster::engine {

struct StandingState;

GroupTerms TermsOfGroup(const StandingState& state, const Gang& gang);

}  // namespace muster::engine
