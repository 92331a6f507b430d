#include <algorithm>

#include "gpu_worker/backends/cuda/generated/kernel.h"
#include "gpu_worker/backends/cuda/problem/expression.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"

// By an example: 3x3 depthwise over 32 channels of 28x28 pixels, then 1x1 to 64 channels, with the
// variant p32/k64. 784 pixels are 25 tiles of 32, and 64 outputs one group: 25 blocks per image.
// Each block, for each 32 channels (here once),
//   1. computes the depthwise result of 32 channels x 32 pixels into `inner`, 4 per thread;
//   2. loads the 32 x 64 corner of the 1x1 weights into `matrix`, 8 per thread;
//   3. multiplies: thread (px, ox) of 16 x 16 keeps kP x kO = 2 x 4 sums in registers, and for each
//      channel reads 2 + 4 numbers of shared memory for 8 multiply-adds.
// The depthwise result never goes to memory: an unfused pair writes and reads it, 2 * 32 * 784
// elements per image. With 728 outputs it is computed 12 times, once per group of 64, from the
// caches.
//
// Shared memory: 4 * 32 * (kPixels + 1 + kOutputs + 1) bytes, 20736 for the largest variant, below
// the 48 KiB that a block has without asking.

namespace plait::cuda {
namespace {

using Kind = KernelArgument::Kind;

constexpr int kChunk = 32;  // channels whose depthwise outputs lie in shared memory at a time

// One block for kPixels pixels of one image and kOutputs channels of the result. The depthwise
// half is computed again for every group of channels: cheaper than a trip through memory as long
// as the groups are few.
// Memory: in NHWC the 32 threads of a warp compute 32 channels of one pixel and read them side by
// side; in NCHW they take neighbouring pixels. The odd row lengths (+ 1) put a column, which is
// what a warp writes to shared memory in NHWC, into different banks. Output is written along
// memory: in NHWC a warp writes 16 channels of two pixels, in NCHW 16 pixels of two channels. In
// NHWC the depthwise weights of neighbouring channels are read side by side, from the packed ones.
constexpr const char* kSeparableSource = R"(
__device__ inline float Depthwise(const T* __restrict__ x0, const T* __restrict__ weights,
                                  int image, int channel, int pixel) {
  const long long plane = kChannelsLast ? image : image * kChannels + channel;
  const T* x = x0 + (kChannelsLast ? plane * (kH * kW * kInputPitch) + channel : plane * (kH * kW));
  const int h0 = pixel / kOutputW * kStrideH - kTop, w0 = pixel % kOutputW * kStrideW - kLeft;
  float sum = 0.0f;
#pragma unroll
  for (int r = 0; r < kR; ++r) {
    const int h = h0 + r * kDilationH;
    if (h < 0 || h >= kH) continue;
#pragma unroll
    for (int s = 0; s < kS; ++s) {
      const int w = w0 + s * kDilationW;
      if (w < 0 || w >= kW) continue;
      const float value = ToFloat(x[(h * kW + w) * (kChannelsLast ? kInputPitch : 1)]);
      sum += $PROLOGUE$(value) *
             ToFloat(weights[kChannelsLast ? (r * kS + s) * kChannels + channel
                                           : (channel * kR + r) * kS + s]);
    }
  }
  return sum;
}
PLAIT_KERNEL __launch_bounds__(kThreads) plait_kernel($PARAMETERS$) {
  AwaitEarlierKernels();
  __shared__ float inner[kChunk][kPixels + 1];
  __shared__ float matrix[kChunk][kOutputs + 1];
  constexpr int kArea = kOutputH * kOutputW, kTiles = (kArea + kPixels - 1) / kPixels;
  constexpr int kGroups = (kK + kOutputs - 1) / kOutputs;
  constexpr int kP = kPixels / 16, kO = kOutputs / 16;
  const int group = blockIdx.x % kGroups, tile = blockIdx.x / kGroups % kTiles;
  const int image = blockIdx.x / (kGroups * kTiles);
  const int fast = threadIdx.x % 16, slow = threadIdx.x / 16;
  const int px = kChannelsLast ? slow : fast, ox = kChannelsLast ? fast : slow;
  float sum[kP][kO];
#pragma unroll
  for (int p = 0; p < kP; ++p) {
#pragma unroll
    for (int o = 0; o < kO; ++o) sum[p][o] = 0.0f;
  }
  for (int first = 0; first < kChannels; first += kChunk) {
    for (int i = threadIdx.x; i < kChunk * kPixels; i += kThreads) {
      const int c = kChannelsLast ? i % kChunk : i / kPixels;
      const int p = kChannelsLast ? i / kChunk : i % kPixels;
      const int channel = first + c, pixel = tile * kPixels + p;
      float value = 0.0f;
      if (channel < kChannels && pixel < kArea) {
        value = Depthwise(x0, $WEIGHTS$, image, channel, pixel);
$BIAS$        value = $SECOND_PROLOGUE$($ACTIVATION$(value));
      }
      inner[c][p] = value;
    }
    for (int i = threadIdx.x; i < kChunk * kOutputs; i += kThreads) {
      const int c = i % kChunk, o = i / kChunk;
      const int channel = first + c, k = group * kOutputs + o;
      matrix[c][o] =
          channel < kChannels && k < kK ? ToFloat(second_weights[k * kChannels + channel]) : 0.0f;
    }
    __syncthreads();
#pragma unroll 8
    for (int c = 0; c < kChunk; ++c) {
#pragma unroll
      for (int p = 0; p < kP; ++p) {
#pragma unroll
        for (int o = 0; o < kO; ++o) {
          sum[p][o] += inner[c][p * 16 + px] * matrix[c][o * 16 + ox];
        }
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int p = 0; p < kP; ++p) {
    const int pixel = tile * kPixels + p * 16 + px;
#pragma unroll
    for (int o = 0; o < kO; ++o) {
      const int k = group * kOutputs + o * 16 + ox;
      if (pixel >= kArea || k >= kK) continue;
      const long long place = kChannelsLast
                                  ? static_cast<long long>(image) * kArea + pixel
                                  : (static_cast<long long>(image) * kK + k) * kArea + pixel;
      float value = sum[p][o];
$SECOND_BIAS$$RESIDUAL$      y0[kChannelsLast ? place * kOutputPitch + k : place] =
          FromFloat($SECOND_ACTIVATION$(value));
    }
  }
}
)";

GeneratedKernel SeparableKernel(const SeparableConvProblem& p, int pixels, int outputs,
                                const KernelForm& form) {
  const bool channels_last = form.layout == MemoryLayout::kNhwc;
  const ConvProblem& d = p.depthwise;
  const ConvProblem& q = p.pointwise;
  GeneratedKernel kernel;
  kernel.arguments = {{Kind::kInput, 0},
                      {channels_last ? Kind::kPackedWeights : Kind::kWeights},
                      {Kind::kSecondWeights}};
  if (d.bias) kernel.arguments.push_back({Kind::kBias});
  if (q.bias) kernel.arguments.push_back({Kind::kSecondBias});
  if (q.residual) kernel.arguments.push_back({Kind::kResidual});
  kernel.arguments.push_back({Kind::kOutput, 0});
  kernel.variant = "p" + std::to_string(pixels) + "/k" + std::to_string(outputs);
  kernel.block = {kBlockThreads, 1, 1};
  kernel.grid = {
      static_cast<unsigned>(d.n * CeilDivide(q.h * q.w, pixels) * CeilDivide(q.k, outputs)), 1, 1};
  kernel.source = Constants({{"kThreads", kBlockThreads},
                             {"kChunk", kChunk},
                             {"kPixels", pixels},
                             {"kOutputs", outputs},
                             {"kChannels", d.c},
                             {"kH", d.h},
                             {"kW", d.w},
                             {"kR", d.r},
                             {"kS", d.s},
                             {"kStrideH", d.stride[0]},
                             {"kStrideW", d.stride[1]},
                             {"kDilationH", d.dilation[0]},
                             {"kDilationW", d.dilation[1]},
                             {"kTop", d.pad[0]},
                             {"kLeft", d.pad[1]},
                             {"kOutputH", q.h},
                             {"kOutputW", q.w},
                             {"kK", q.k},
                             {"kInputPitch", PitchOr(form.pitches.input(0), d.c)},
                             {"kOutputPitch", PitchOr(form.pitches.output(0), q.k)},
                             {"kResidualPitch", PitchOr(form.pitches.residual, q.k)},
                             {"kChannelsLast", channels_last ? 1 : 0}});
  kernel.source += Replace(
      kSeparableSource,
      {{"PARAMETERS", Parameters(kernel.arguments)},
       {"WEIGHTS", channels_last ? "packed_weights" : "weights"},
       {"PROLOGUE", d.prologue_relu ? "Relu" : ""},
       {"SECOND_PROLOGUE", q.prologue_relu ? "Relu" : ""},
       {"BIAS", d.bias ? "        value += ToFloat(bias[channel]);\n" : ""},
       {"SECOND_BIAS", q.bias ? "      value += ToFloat(second_bias[k]);\n" : ""},
       {"RESIDUAL",
        q.residual ? "      value += ToFloat(residual[kChannelsLast ? place * kResidualPitch + k : "
                     "place]);\n"
                   : ""},
       {"ACTIVATION", ActivationFunction(d.activation)},
       {"SECOND_ACTIVATION", ActivationFunction(q.activation)}});
  return kernel;
}

std::vector<GeneratedKernel> GenerateSeparable(const Problem& problem, const KernelForm& form) {
  const auto* p = std::get_if<SeparableConvProblem>(&problem);
  if (p == nullptr || p->depthwise.r * p->depthwise.s > 169) return {};
  std::vector<GeneratedKernel> kernels;
  // Small tiles make more blocks, for small images; large ones read less per sum. 128 outputs are
  // only worth while if more than half of them exist. At batch 1 the smallest one was the fastest
  // for 226 of nasnet_mobile's 228.
  for (const auto& [pixels, outputs] : {std::pair(16, 64), {32, 64}, {64, 64}, {32, 128}}) {
    if (outputs / 2 >= p->pointwise.k && outputs > 64) continue;
    kernels.push_back(SeparableKernel(*p, pixels, outputs, form));
    kernels.back().is_listed =
        kernels.size() == 1 || int64_t{kernels.back().grid[0]} * kBlockThreads >= kThreadsToFill;
  }
  return kernels;
}

}  // namespace

extern const GeneratedFamily kGeneratedSeparable;
const GeneratedFamily kGeneratedSeparable = {"separable", GenerateSeparable, true};

}  // namespace plait::cuda
