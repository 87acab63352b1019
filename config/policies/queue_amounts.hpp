// How the resources of queues and their amounts are written, here and elsewhere: gpu, gpu/h100,
// cpu: 0.5, memory: 512GiB; as nvidia.com/gpu, gpu/NVIDIA-H100-80GB-HBM3, 500m, 512Gi too. Pure
// functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/fields/fields.hpp"
#include "queues/resource.hpp"

namespace muster::config {

// By which an amount of the resource is read and written.
const AmountRule& RuleOf(const queues::Resource& resource);

std::string ResourceName(std::string_view text);
bool IsResource(std::string_view text);
inline constexpr TextRule kResource{"gpu, gpu/MODEL (such as gpu/h100), gpuMemory, cpu or memory",
                                    IsResource, nullptr, false, ResourceName};

// Words of a GPU's name, as drivers and nodes' labels write it, in our writing.
std::string ModelWords(std::string_view text);
bool IsModel(std::string_view text);
inline constexpr TextRule kModel{"a word of a GPU's name, such as h100", IsModel, nullptr, false,
                                 ModelWords};

}  // namespace muster::config
