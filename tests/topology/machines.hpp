// Matrices that several tests use, written from the machines' published block diagrams.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "topology/links/gpu_chooser.hpp"

namespace muster::topology::testing {

inline GpuMask MaskOf(const std::vector<size_t>& places) {
  GpuMask mask = 0;
  for (const size_t place : places) mask |= GpuMask{1} << place;
  return mask;
}

// Two boards of four V100, a hybrid cube mesh of NVLinks; a NIC for each pair on a PCIe switch.
inline const std::string kDgx1v =
    "GPU0 GPU1 GPU2 GPU3 GPU4 GPU5 GPU6 GPU7 mlx5_0 mlx5_1 mlx5_2 mlx5_3 CPU Affinity NUMA "
    "Affinity\n"
    "GPU0 X NV1 NV1 NV2 NV2 SYS SYS SYS PIX PHB SYS SYS 0-19 0\n"
    "GPU1 NV1 X NV2 NV1 SYS NV2 SYS SYS PIX PHB SYS SYS 0-19 0\n"
    "GPU2 NV1 NV2 X NV2 SYS SYS NV1 SYS PHB PIX SYS SYS 0-19 0\n"
    "GPU3 NV2 NV1 NV2 X SYS SYS SYS NV1 PHB PIX SYS SYS 0-19 0\n"
    "GPU4 NV2 SYS SYS SYS X NV1 NV1 NV2 SYS SYS PIX PHB 20-39 1\n"
    "GPU5 SYS NV2 SYS SYS NV1 X NV2 NV1 SYS SYS PIX PHB 20-39 1\n"
    "GPU6 SYS SYS NV1 SYS NV1 NV2 X NV2 SYS SYS PHB PIX 20-39 1\n"
    "GPU7 SYS SYS SYS NV1 NV2 NV1 NV2 X SYS SYS PHB PIX 20-39 1\n"
    "mlx5_0 PIX PIX PHB PHB SYS SYS SYS SYS X PHB SYS SYS\n"
    "mlx5_1 PHB PHB PIX PIX SYS SYS SYS SYS PHB X SYS SYS\n"
    "mlx5_2 SYS SYS SYS SYS PIX PIX PHB PHB SYS SYS X PHB\n"
    "mlx5_3 SYS SYS SYS SYS PHB PHB PIX PIX SYS SYS PHB X\n";

}  // namespace muster::topology::testing
