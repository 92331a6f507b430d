#include "optimizer/cost/occupancy.h"

#include <algorithm>

#include "base/status_macros.h"

namespace plait {
namespace {

constexpr int kWarpThreads = 32;

int RoundUp(int value, int to) { return (value + to - 1) / to * to; }

struct FamilyResources {
  absl::string_view family;
  BlockResources block;
};

constexpr FamilyResources kFamilies[] = {
#define PLAIT_GENERATED_KERNEL(family, threads, registers, shared_bytes) \
  {#family, {threads, registers, shared_bytes}},
#include "optimizer/cost/generated_kernels.def"
#undef PLAIT_GENERATED_KERNEL
};

}  // namespace

int ResidentBlocks(const BlockResources& block, const Multiprocessor& multiprocessor) {
  const int warps = std::max(1, RoundUp(block.threads, kWarpThreads) / kWarpThreads);
  const int warp_registers = RoundUp(std::max(block.registers, 1) * kWarpThreads, 256);
  const int block_bytes = RoundUp(block.shared_bytes, 128) + 1024;
  return std::min({multiprocessor.blocks, multiprocessor.threads / (warps * kWarpThreads),
                   multiprocessor.registers / warp_registers / warps,
                   multiprocessor.shared_bytes / block_bytes});
}

BlockResources ResourcesOf(absl::string_view family) {
  const auto* const found =
      std::find_if(std::begin(kFamilies), std::end(kFamilies),
                   [&](const FamilyResources& known) { return known.family == family; });
  PLAIT_CHECK(found != std::end(kFamilies));
  return found->block;
}

}  // namespace plait
