#include <algorithm>

#include "gpu_worker/backends/cuda/generated/kernel.h"
#include "gpu_worker/backends/cuda/generated/rows.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"

namespace plait::cuda {
namespace {

using Kind = KernelArgument::Kind;
using Mode = PoolProblem::Mode;

bool IsGlobal(const PoolProblem& p) {
  return p.output_h == 1 && p.output_w == 1 && p.r == p.h && p.s == p.w && p.pad[0] == 0 &&
         p.pad[1] == 0 && p.pad[2] == 0 && p.pad[3] == 0;
}

std::string PoolConstants(const PoolProblem& p, int width, const KernelForm& form) {
  return Constants({{"kWidth", width},
                    {"kThreads", kBlockThreads},
                    {"kBatch", p.n},
                    {"kChannels", p.c},
                    {"kH", p.h},
                    {"kW", p.w},
                    {"kR", p.r},
                    {"kS", p.s},
                    {"kStrideH", p.stride[0]},
                    {"kStrideW", p.stride[1]},
                    {"kTop", p.pad[0]},
                    {"kLeft", p.pad[1]},
                    {"kBottom", p.pad[2]},
                    {"kRight", p.pad[3]},
                    {"kOutputH", p.output_h},
                    {"kOutputW", p.output_w},
                    {"kInputPitch", PitchOr(form.pitches.input(0), p.c)},
                    {"kOutputPitch", PitchOr(form.pitches.output(0), p.c)},
                    {"kChannelsLast", form.layout == MemoryLayout::kNhwc ? 1 : 0},
                    {"kMax", p.mode == Mode::kMax ? 1 : 0},
                    {"kCountPadding", p.mode == Mode::kAverageWithPadding ? 1 : 0}});
}

// One thread for one output pixel of kWidth channels (NHWC) or one channel (NCHW).
// In NHWC a warp reads neighbouring channels of one pixel, in NCHW neighbouring pixels of one
// channel (a stride leaves gaps). Windows that overlap are read again from the caches.
constexpr const char* kWindow = R"(
PLAIT_KERNEL __launch_bounds__(kThreads)
plait_kernel(const T* __restrict__ x0, T* __restrict__ y0) {
  AwaitEarlierKernels();
  const unsigned e = (blockIdx.x * kThreads + threadIdx.x) * kWidth;
  if (e >= static_cast<unsigned>(kBatch * kChannels * kOutputH * kOutputW)) return;
  unsigned pixel, image, channel;
  if (kChannelsLast) {
    channel = e % kChannels;
    pixel = e / kChannels % (kOutputH * kOutputW);
    image = e / (kChannels * kOutputH * kOutputW);
  } else {
    pixel = e % (kOutputH * kOutputW);
    channel = e / (kOutputH * kOutputW) % kChannels;
    image = e / (kChannels * kOutputH * kOutputW);
  }
  const int h0 = static_cast<int>(pixel / kOutputW) * kStrideH - kTop;
  const int w0 = static_cast<int>(pixel % kOutputW) * kStrideW - kLeft;
  const T* x = x0 + (kChannelsLast ? image * (kH * kW * kInputPitch) + channel
                                   : (image * kChannels + channel) * (kH * kW));
  float result[kWidth];
#pragma unroll
  for (int j = 0; j < kWidth; ++j) result[j] = kMax ? NegativeInfinity() : 0.0f;
  int count = 0;
  for (int r = 0; r < kR; ++r) {
    for (int s = 0; s < kS; ++s) {
      const int h = h0 + r, w = w0 + s;
      if (kCountPadding && h < kH + kBottom && w < kW + kRight) ++count;
      if (h < 0 || h >= kH || w < 0 || w >= kW) continue;
      if (!kCountPadding) ++count;
      float value[kWidth];
      LoadVector<kWidth>(x + (h * kW + w) * (kChannelsLast ? kInputPitch : 1), value);
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
        result[j] = kMax ? Maximum(result[j], value[j]) : result[j] + value[j];
      }
    }
  }
  if (!kMax) {
#pragma unroll
    for (int j = 0; j < kWidth; ++j) result[j] /= static_cast<float>(count);
  }
  const unsigned place = image * (kOutputH * kOutputW) + pixel;
  StoreVector<kWidth>(y0 + (kChannelsLast ? place * kOutputPitch + channel : e), result);
}
)";

// One block for 32 channels of an image; eight threads share a channel's pixels.
// A warp reads 32 channels of a pixel side by side; the eight warps take every eighth pixel and
// join in 1 KiB of shared memory. More threads per channel would be idle for the images of 7x7 or
// 8x8 pixels that end most networks.
constexpr const char* kGlobalChannelsLast = R"(
PLAIT_KERNEL __launch_bounds__(kThreads)
plait_kernel(const T* __restrict__ x0, T* __restrict__ y0) {
  AwaitEarlierKernels();
  constexpr int kGroups = (kChannels + 31) / 32, kParts = kThreads / 32;
  __shared__ float parts[kParts][32];
  const int channel = blockIdx.x % kGroups * 32 + threadIdx.x % 32, part = threadIdx.x / 32;
  const T* x = x0 + static_cast<long long>(blockIdx.x / kGroups) * kH * kW * kInputPitch + channel;
  float result = kMax ? NegativeInfinity() : 0.0f;
  if (channel < kChannels) {
    for (int i = part; i < kH * kW; i += kParts) {
      const float value = ToFloat(x[i * kInputPitch]);
      result = kMax ? Maximum(result, value) : result + value;
    }
  }
  parts[part][threadIdx.x % 32] = result;
  __syncthreads();
  if (part == 0 && channel < kChannels) {
    for (int i = 1; i < kParts; ++i) {
      const float value = parts[i][threadIdx.x];
      result = kMax ? Maximum(result, value) : result + value;
    }
    if (!kMax) result *= 1.0f / (kH * kW);
    y0[blockIdx.x / kGroups * kOutputPitch + channel] = FromFloat(result);
  }
}
)";

GeneratedKernel PoolKernel(const PoolProblem& p, int width, const KernelForm& form, bool global) {
  GeneratedKernel kernel;
  kernel.arguments = {{Kind::kInput, 0}, {Kind::kOutput, 0}};
  kernel.block = {kBlockThreads, 1, 1};
  kernel.source = PoolConstants(p, width, form);
  if (global) {
    kernel.variant = "global";
    kernel.grid = {static_cast<unsigned>(p.n * CeilDivide(p.c, 32)), 1, 1};
    kernel.source += kGlobalChannelsLast;
    return kernel;
  }
  kernel.variant = "window/v" + std::to_string(width);
  const int64_t vectors = p.n * p.c * p.output_h * p.output_w / width;
  kernel.grid = {static_cast<unsigned>(CeilDivide(vectors, kBlockThreads)), 1, 1};
  kernel.source += kWindow;
  return kernel;
}

std::vector<GeneratedKernel> GeneratePool(const Problem& problem, const KernelForm& form) {
  const auto* p = std::get_if<PoolProblem>(&problem);
  if (p == nullptr) return {};
  const bool channels_last = form.layout == MemoryLayout::kNhwc;
  std::vector<GeneratedKernel> kernels;
  // In NCHW the pixels of a channel are a row.
  if (IsGlobal(*p) && !channels_last) {
    const auto kind =
        p->mode == Mode::kMax ? RowsProblem::Kind::kReduceMax : RowsProblem::Kind::kReduceMean;
    kernels = GenerateRows({.kind = kind, .rows = p->n * p->c, .columns = p->h * p->w}, form);
  } else if (IsGlobal(*p)) {
    kernels.push_back(PoolKernel(*p, 1, form, true));
  }
  const int widest = channels_last ? VectorWidth(form, {p->c}) : 1;
  // Right for global pools, too, so it is listed behind the special one.
  for (int width = widest; width >= 1; width /= 2) {
    kernels.push_back(PoolKernel(*p, width, form, false));
    const int64_t threads = p->n * p->c * p->output_h * p->output_w / width;
    kernels.back().is_listed = width <= 2 || threads >= kThreadsToFill;
  }
  return kernels;
}

}  // namespace

extern const GeneratedFamily kGeneratedPool;
const GeneratedFamily kGeneratedPool = {"pool", GeneratePool, true};

}  // namespace plait::cuda
