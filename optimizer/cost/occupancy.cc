#include "optimizer/cost/occupancy.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_split.h"
#include "base/status_macros.h"

namespace plait {
namespace {

constexpr int kWarpThreads = 32;

int RoundUp(int value, int to) { return (value + to - 1) / to * to; }

struct KnownKernel {
  absl::string_view family;
  absl::string_view variant;
  int threads;
  int shared_bytes;
  int sm_80_registers, sm_89_registers, sm_90a_registers;

  BlockResources On(absl::string_view architecture) const {
    const int registers = architecture == "sm_80"   ? sm_80_registers
                          : architecture == "sm_89" ? sm_89_registers
                                                    : sm_90a_registers;
    return {threads, registers, shared_bytes};
  }
};

constexpr KnownKernel kKernels[] = {
#define PLAIT_GENERATED_KERNEL(family, variant, threads, shared_bytes, sm_80, sm_89, sm_90a) \
  {#family, variant, threads, shared_bytes, sm_80, sm_89, sm_90a},
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

std::optional<BlockResources> ResourcesOf(absl::string_view kernel,
                                          absl::string_view architecture) {
  const std::pair<absl::string_view, absl::string_view> name =
      absl::StrSplit(kernel, absl::MaxSplits('/', 1));
  for (const KnownKernel& known : kKernels) {
    if (std::pair(known.family, known.variant) == name) return known.On(architecture);
  }
  return std::nullopt;
}

BlockResources WorstResourcesOf(absl::string_view family, const Multiprocessor& multiprocessor) {
  std::optional<BlockResources> worst;
  const auto threads = [&](const BlockResources& block) {
    return block.threads * ResidentBlocks(block, multiprocessor);
  };
  for (const KnownKernel& known : kKernels) {
    if (known.family != family) continue;
    const BlockResources block = known.On(multiprocessor.architecture);
    if (!worst.has_value() || threads(block) < threads(*worst)) worst = block;
  }
  PLAIT_CHECK(worst.has_value());
  return *worst;
}

}  // namespace plait
