#include <algorithm>
#include <cstdio>

#include "gpu_worker/backends/cuda/generated/kernel.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"

namespace plait::cuda {
namespace {

using Kind = KernelArgument::Kind;

// A table in the kernel's text: the caches have it after the first block.
template <typename Value, typename Print>
std::string Table(const char* type, const std::string& name, const std::vector<Value>& values,
                  Print print) {
  std::string text = std::string("__device__ const ") + type + " " + name + "[] = {";
  for (const Value& value : values) text += print(value) + ",";
  text.back() = '}';
  return text + ";\n";
}

std::string TablesOf(const std::string& name, const ResizeProblem::Axis& axis) {
  return Table("int", "k" + name + "Elements", axis.elements,
               [](int64_t element) { return std::to_string(element); }) +
         Table("float", "k" + name + "Weights", axis.weights, [](float weight) {
           char text[40];
           std::snprintf(text, sizeof(text), "%.9ef", static_cast<double>(weight));
           return std::string(text);
         });
}

// One thread for one output pixel of kWidth channels (NHWC) or one channel (NCHW), as in a pool:
// the taps of neighbours overlap, and are read again from the caches.
GeneratedKernel ResizeKernel(const ResizeProblem& p, const KernelForm& form, int width) {
  GeneratedKernel kernel;
  kernel.arguments = {{Kind::kInput, 0}, {Kind::kOutput, 0}};
  const int64_t vectors = p.n * p.c * p.rows.output() * p.columns.output() / width;
  kernel.variant = "v" + std::to_string(width);
  kernel.block = {kBlockThreads, 1, 1};
  kernel.grid = {static_cast<unsigned>(CeilDivide(vectors, kBlockThreads)), 1, 1};
  kernel.source = Constants({{"kWidth", width},
                             {"kThreads", kBlockThreads},
                             {"kVectors", vectors},
                             {"kChannels", p.c},
                             {"kH", p.rows.input},
                             {"kW", p.columns.input},
                             {"kOutputH", p.rows.output()},
                             {"kOutputW", p.columns.output()},
                             {"kRowTaps", p.rows.taps},
                             {"kColumnTaps", p.columns.taps},
                             {"kInputPitch", PitchOr(form.pitches.input(0), p.c)},
                             {"kOutputPitch", PitchOr(form.pitches.output(0), p.c)},
                             {"kChannelsLast", form.layout == MemoryLayout::kNhwc ? 1 : 0}});
  kernel.source += TablesOf("Row", p.rows) + TablesOf("Column", p.columns);
  kernel.source += Replace(R"(
PLAIT_KERNEL __launch_bounds__(kThreads) plait_kernel($PARAMETERS$) {
  AwaitEarlierKernels();
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= kVectors) return;
  const unsigned e = i * kWidth;
  // Of all images' pixels, and of all planes' in NCHW.
  const unsigned place = kChannelsLast ? e / kChannels : e;
  const unsigned column = place % kOutputW, row = place / kOutputW % kOutputH;
  const unsigned image = place / (kOutputH * kOutputW);
  const unsigned step = kChannelsLast ? kInputPitch : 1;
  const T* x = x0 + image * (kH * kW * step) + (kChannelsLast ? e % kChannels : 0);
  float result[kWidth];
#pragma unroll
  for (int j = 0; j < kWidth; ++j) result[j] = 0.0f;
  for (int r = 0; r < kRowTaps; ++r) {
    const int h = kRowElements[row * kRowTaps + r];
    const float row_weight = kRowWeights[row * kRowTaps + r];
    for (int s = 0; s < kColumnTaps; ++s) {
      const int w = kColumnElements[column * kColumnTaps + s];
      const float weight = row_weight * kColumnWeights[column * kColumnTaps + s];
      float value[kWidth];
      LoadVector<kWidth>(x + (h * kW + w) * step, value);
#pragma unroll
      for (int j = 0; j < kWidth; ++j) result[j] += weight * value[j];
    }
  }
  StoreVector<kWidth>(y0 + (kChannelsLast ? place * kOutputPitch + e % kChannels : e), result);
}
)",
                           {{"PARAMETERS", Parameters(kernel.arguments)}});
  return kernel;
}

std::vector<GeneratedKernel> GenerateResize(const Problem& problem, const KernelForm& form) {
  const auto* p = std::get_if<ResizeProblem>(&problem);
  if (p == nullptr) return {};
  // Pixels that are neighbours in memory are so by channels alone.
  const bool channels_last = form.layout == MemoryLayout::kNhwc;
  const int widest = channels_last ? VectorWidth(form, {p->c}) : 1;
  std::vector<GeneratedKernel> kernels;
  for (int width = widest; width >= std::max(1, widest / 2); width /= 2) {
    kernels.push_back(ResizeKernel(*p, form, width));
  }
  return kernels;
}

}  // namespace

extern const GeneratedFamily kGeneratedResize;
const GeneratedFamily kGeneratedResize = {"resize", GenerateResize, true};

}  // namespace plait::cuda
