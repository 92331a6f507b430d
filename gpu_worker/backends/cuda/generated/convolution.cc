#include "gpu_worker/backends/cuda/generated/kernel.h"
#include "gpu_worker/backends/cuda/problem/expression.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"
#include "gpu_worker/backends/cuda/problem/strict_kernels.h"

// Convolutions with an activation that libraries have no kernel for, beyond Relu and Relu6. By an
// example: 3x3 over 32 channels of 28x28 pixels to 64, with the variant p32/k64. 784 pixels are 25
// tiles of 32, and 64 outputs one part: 25 blocks. Each, for 16 of the 32 * 9 taps at a time,
//   1. gathers what the taps of 32 pixels read into `window`, two per thread;
//   2. loads the 16 x 64 corner of the weights into `matrix`, four per thread;
//   3. multiplies: thread (px, ox) of 16 x 16 keeps kP x kO = 2 x 4 sums in registers, and for each
//      tap reads 2 + 4 numbers of shared memory for 8 multiply-adds.
// Nothing is unfolded in memory. Shared memory: 4 * 16 * (kPixels + 1 + kOutputs + 1) bytes.

namespace plait::cuda {
namespace {

using Kind = KernelArgument::Kind;

constexpr int kDepth = 16;  // taps whose elements lie in shared memory at a time

// One block for kPixels pixels of all images and kOutputs channels of a group's result.
// Memory: taps are numbered as the weights lie, so that a warp reads 16 neighbours of two rows of
// them. In NHWC neighbouring taps are neighbouring channels, which a warp reads side by side; in
// NCHW it takes neighbouring pixels. The odd row lengths (+ 1) put a column, which is what a warp
// writes to shared memory in NHWC, into different banks. Output is written along memory.
constexpr const char* kConvolutionSource = R"(
constexpr int kArea = kOutputH * kOutputW, kAll = kBatch * kArea;
constexpr int kGroupC = kChannels / kGroups, kGroupK = kK / kGroups, kTaps = kGroupC * kR * kS;
__device__ inline float Tap(const T* __restrict__ x0, int group, int tap, int place) {
  if (tap >= kTaps || place >= kAll) return 0.0f;
  const int c = kChannelsLast ? tap % kGroupC : tap / (kR * kS);
  const int rs = kChannelsLast ? tap / kGroupC : tap % (kR * kS);
  const long long image = place / kArea;
  const int pixel = place % kArea, channel = group * kGroupC + c;
  const int h = pixel / kOutputW * kStrideH - kTop + rs / kS * kDilationH;
  const int w = pixel % kOutputW * kStrideW - kLeft + rs % kS * kDilationW;
  if (h < 0 || h >= kH || w < 0 || w >= kW) return 0.0f;
  return $PROLOGUE$(ToFloat(x0[kChannelsLast
                                   ? ((image * kH + h) * kW + w) * kInputPitch + channel
                                   : ((image * kChannels + channel) * kH + h) * kW + w]));
}
PLAIT_KERNEL __launch_bounds__(kThreads) plait_kernel($PARAMETERS$) {
  AwaitEarlierKernels();
  __shared__ float window[kDepth][kPixels + 1];
  __shared__ float matrix[kDepth][kOutputs + 1];
  constexpr int kParts = (kGroupK + kOutputs - 1) / kOutputs;
  constexpr int kP = kPixels / 16, kO = kOutputs / 16;
  const int part = blockIdx.x % kParts, group = blockIdx.x / kParts % kGroups;
  const int tile = blockIdx.x / (kParts * kGroups);
  const int fast = threadIdx.x % 16, slow = threadIdx.x / 16;
  const int px = kChannelsLast ? slow : fast, ox = kChannelsLast ? fast : slow;
  float sum[kP][kO];
#pragma unroll
  for (int p = 0; p < kP; ++p) {
#pragma unroll
    for (int o = 0; o < kO; ++o) sum[p][o] = 0.0f;
  }
  for (int first = 0; first < kTaps; first += kDepth) {
    for (int i = threadIdx.x; i < kDepth * kPixels; i += kThreads) {
      const int t = kChannelsLast ? i % kDepth : i / kPixels;
      const int p = kChannelsLast ? i / kDepth : i % kPixels;
      window[t][p] = Tap(x0, group, first + t, tile * kPixels + p);
    }
    for (int i = threadIdx.x; i < kDepth * kOutputs; i += kThreads) {
      const int t = i % kDepth, o = i / kDepth;
      const int tap = first + t, k = part * kOutputs + o;
      matrix[t][o] =
          tap < kTaps && k < kGroupK ? ToFloat(weights[(group * kGroupK + k) * kTaps + tap]) : 0.0f;
    }
    __syncthreads();
#pragma unroll 8
    for (int t = 0; t < kDepth; ++t) {
#pragma unroll
      for (int p = 0; p < kP; ++p) {
#pragma unroll
        for (int o = 0; o < kO; ++o) {
          sum[p][o] += window[t][p * 16 + px] * matrix[t][o * 16 + ox];
        }
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int p = 0; p < kP; ++p) {
    const int place = tile * kPixels + p * 16 + px;
#pragma unroll
    for (int o = 0; o < kO; ++o) {
      const int k = part * kOutputs + o * 16 + ox;
      if (place >= kAll || k >= kGroupK) continue;
      const int channel = group * kGroupK + k;
      const long long image = place / kArea;
      const long long e = kChannelsLast ? place : (image * kK + channel) * kArea + place % kArea;
      float value = sum[p][o];
$BIAS$$RESIDUAL$      y0[kChannelsLast ? e * kOutputPitch + channel : e] =
          FromFloat($ACTIVATION$(value));
    }
  }
}
)";

GeneratedKernel ConvolutionKernel(const ConvProblem& p, int pixels, int outputs,
                                  const KernelForm& form) {
  GeneratedKernel kernel;
  kernel.arguments = {{Kind::kInput, 0}, {Kind::kWeights}};
  if (p.bias) kernel.arguments.push_back({Kind::kBias});
  if (p.residual) kernel.arguments.push_back({Kind::kResidual});
  kernel.arguments.push_back({Kind::kOutput, 0});
  kernel.variant = "p" + std::to_string(pixels) + "/k" + std::to_string(outputs);
  kernel.block = {kBlockThreads, 1, 1};
  const int64_t tiles = CeilDivide(p.n * p.output_h() * p.output_w(), pixels);
  kernel.grid = {static_cast<unsigned>(tiles * p.groups * CeilDivide(p.k / p.groups, outputs)), 1,
                 1};
  kernel.source = Constants({{"kThreads", kBlockThreads},
                             {"kDepth", kDepth},
                             {"kPixels", pixels},
                             {"kOutputs", outputs},
                             {"kGroups", p.groups},
                             {"kK", p.k}}) +
                  WindowConstants(p, form);
  kernel.source +=
      Replace(kConvolutionSource,
              {{"PARAMETERS", Parameters(kernel.arguments)},
               {"PROLOGUE", p.prologue_relu ? "Relu" : ""},
               {"BIAS", p.bias ? "      value += ToFloat(bias[channel]);\n" : ""},
               {"RESIDUAL", p.residual ? "      value += ToFloat(residual[kChannelsLast ? e * "
                                         "kResidualPitch + channel : e]);\n"
                                       : ""},
               {"ACTIVATION", ActivationFunction(p.activation)}});
  return kernel;
}

std::vector<GeneratedKernel> GenerateConvolution(const Problem& problem, const KernelForm& form) {
  const auto* p = std::get_if<ConvProblem>(&problem);
  // What cuDNN has not in fp32 it only compiles at run time in other precisions. Nor has it one
  // behind a Relu: that costs less as a kernel of its own than a product of ours in the place of
  // its. Depthwise convolutions have kernels of their own.
  if (p == nullptr || CudnnEndsIn(p->activation) || p->is_depthwise()) return {};
  std::vector<GeneratedKernel> kernels;
  // Small tiles make more blocks, for small images; large ones read less per sum.
  for (const auto& [pixels, outputs] : {std::pair(32, 32), {32, 64}, {64, 64}, {128, 64}}) {
    if (outputs / 2 >= p->k / p->groups && outputs > 32) continue;
    kernels.push_back(ConvolutionKernel(*p, pixels, outputs, form));
    kernels.back().is_listed =
        kernels.size() == 1 || int64_t{kernels.back().grid[0]} * kBlockThreads >= kThreadsToFill;
  }
  return kernels;
}

}  // namespace

extern const GeneratedFamily kGeneratedConvolution;
const GeneratedFamily kGeneratedConvolution = {"convolution", GenerateConvolution, true};

}  // namespace plait::cuda
