// NearestWord for what people type in files. See cluster/nearest_word.hpp.
#pragma once

#include "cluster/nearest_word.hpp"

namespace muster::config {

using cluster::NearestWord;

}  // namespace muster::config
