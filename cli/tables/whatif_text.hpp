// What `muster whatif` prints, made from the JSON of POST /v1/whatif
// (extender/pages/what_if_page.hpp). Pure function; an error means that the text is not what a
// muster server sends.
#pragma once

#include <string>
#include <string_view>

#include "cluster/base/result.hpp"

namespace muster::cli {

cluster::Result<std::string> WhatIfText(std::string_view json);

}  // namespace muster::cli
