// NearestWord for what people type in files. See cluster/base/nearest_word.hpp.
#pragma once

#include "cluster/base/nearest_word.hpp"

namespace muster::config {

using cluster::NearestWord;

}  // namespace muster::config
