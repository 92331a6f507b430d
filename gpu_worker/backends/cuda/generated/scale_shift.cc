#include <algorithm>

#include "gpu_worker/backends/cuda/generated/kernel.h"
#include "gpu_worker/backends/cuda/problem/expression.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"

namespace plait::cuda {
namespace {

using Kind = KernelArgument::Kind;

// One thread for kWidth neighbours in memory. In NHWC these are channels, each with its own scale,
// read as vectors; in NCHW pixels of one channel, with one scale. x and y move once, the scales
// come from the caches after the first block.
GeneratedKernel ScaleShiftKernel(const ScaleShiftProblem& p, const KernelForm& form, int width) {
  GeneratedKernel kernel;
  kernel.arguments = {{Kind::kInput, 0}, {Kind::kWeights}, {Kind::kBias}, {Kind::kOutput, 0}};
  const int64_t vectors = p.n * p.c * p.spatial / width;
  kernel.variant = "v" + std::to_string(width);
  kernel.block = {kBlockThreads, 1, 1};
  kernel.grid = {static_cast<unsigned>(CeilDivide(vectors, kBlockThreads)), 1, 1};
  kernel.source = Constants({{"kVectors", vectors},
                             {"kWidth", width},
                             {"kThreads", kBlockThreads},
                             {"kChannels", p.c},
                             {"kSpatial", p.spatial},
                             {"kInputPitch", PitchOr(form.pitches.input(0), p.c)},
                             {"kOutputPitch", PitchOr(form.pitches.output(0), p.c)},
                             {"kChannelsLast", form.layout == MemoryLayout::kNhwc ? 1 : 0}});
  kernel.source += Replace(R"(
PLAIT_KERNEL __launch_bounds__(kThreads) plait_kernel($PARAMETERS$) {
  AwaitEarlierKernels();
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= kVectors) return;
  const unsigned e = i * kWidth;
  float value[kWidth], scale[kWidth], shift[kWidth];
  LoadVector<kWidth>(x0 + (kChannelsLast ? e / kChannels * kInputPitch + e % kChannels : e), value);
  if (kChannelsLast) {
    LoadVector<kWidth>(weights + e % kChannels, scale);
    LoadVector<kWidth>(bias + e % kChannels, shift);
  } else {
    const unsigned c = e / kSpatial % kChannels;
    scale[0] = ToFloat(weights[c]);
    shift[0] = ToFloat(bias[c]);
#pragma unroll
    for (int j = 1; j < kWidth; ++j) {
      scale[j] = scale[0];
      shift[j] = shift[0];
    }
  }
#pragma unroll
  for (int j = 0; j < kWidth; ++j) value[j] = $ACTIVATION$(value[j] * scale[j] + shift[j]);
  StoreVector<kWidth>(y0 + (kChannelsLast ? e / kChannels * kOutputPitch + e % kChannels : e),
                      value);
}
)",
                           {{"PARAMETERS", Parameters(kernel.arguments)},
                            {"ACTIVATION", ActivationFunction(p.activation)}});
  return kernel;
}

std::vector<GeneratedKernel> GenerateScaleShift(const Problem& problem, const KernelForm& form) {
  const auto* p = std::get_if<ScaleShiftProblem>(&problem);
  // Two widths: a small image wants more threads than wide loads.
  if (p == nullptr) return {};
  const bool channels_last = form.layout == MemoryLayout::kNhwc;
  const int widest = VectorWidth(form, {channels_last ? p->c : p->spatial});
  std::vector<GeneratedKernel> kernels;
  for (int width = widest; width >= std::max(1, widest / 2); width /= 2) {
    kernels.push_back(ScaleShiftKernel(*p, form, width));
  }
  return kernels;
}

}  // namespace

extern const GeneratedFamily kGeneratedScaleShift;
const GeneratedFamily kGeneratedScaleShift = {"scale_shift", GenerateScaleShift, true};

}  // namespace plait::cuda
