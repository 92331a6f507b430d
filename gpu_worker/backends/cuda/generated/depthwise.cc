#include <algorithm>

#include "gpu_worker/backends/cuda/generated/kernel.h"
#include "gpu_worker/backends/cuda/problem/expression.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"

namespace plait::cuda {
namespace {

using Kind = KernelArgument::Kind;

constexpr int kDepthwiseThreads = 128;

// One thread for kPixels neighbours in a row of the output, of kWidth channels (NHWC) or one
// channel (NCHW).
// The kPixels share the weights, which are loaded once for all of them, and where windows overlap
// the pixels come from the first-level cache. In NHWC a warp reads neighbouring channels, in NCHW
// neighbouring strips of a row. In NHWC the weights of neighbouring channels are read side by side,
// from the packed ones. The work per element is r * s multiply-adds, too little for tensor
// cores.
constexpr const char* kDepthwiseSource = R"(
PLAIT_KERNEL __launch_bounds__(kThreads) plait_kernel($PARAMETERS$) {
  AwaitEarlierKernels();
  constexpr int kStrips = (kOutputW + kPixels - 1) / kPixels;
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= static_cast<unsigned>(kBatch * (kChannels / kWidth) * kOutputH * kStrips)) return;
  unsigned strip, row, channel, image;
  if (kChannelsLast) {
    channel = i % (kChannels / kWidth) * kWidth;
    strip = i / (kChannels / kWidth) % kStrips;
    row = i / (kChannels / kWidth * kStrips) % kOutputH;
    image = i / (kChannels / kWidth * kStrips * kOutputH);
  } else {
    strip = i % kStrips;
    row = i / kStrips % kOutputH;
    channel = i / (kStrips * kOutputH) % kChannels;
    image = i / (kStrips * kOutputH * kChannels);
  }
  const T* x = x0 + (kChannelsLast ? image * (kH * kW * kInputPitch) + channel
                                   : (image * kChannels + channel) * (kH * kW));
  constexpr int kStep = kChannelsLast ? kInputPitch : 1;
  const int h0 = static_cast<int>(row) * kStrideH - kTop;
  const int w0 = static_cast<int>(strip) * (kPixels * kStrideW) - kLeft;
  float sum[kPixels][kWidth];
#pragma unroll
  for (int p = 0; p < kPixels; ++p) {
#pragma unroll
    for (int j = 0; j < kWidth; ++j) sum[p][j] = 0.0f;
  }
#pragma unroll
  for (int r = 0; r < kR; ++r) {
    const int h = h0 + r * kDilationH;
    if (h < 0 || h >= kH) continue;
#pragma unroll
    for (int s = 0; s < kS; ++s) {
      float weight[kWidth];
      $WEIGHT$
#pragma unroll
      for (int p = 0; p < kPixels; ++p) {
        const int w = w0 + p * kStrideW + s * kDilationW;
        if (w < 0 || w >= kW) continue;
        float value[kWidth];
        LoadVector<kWidth>(x + (h * kW + w) * kStep, value);
#pragma unroll
        for (int j = 0; j < kWidth; ++j) sum[p][j] += $PROLOGUE$(value[j]) * weight[j];
      }
    }
  }
#pragma unroll
  for (int p = 0; p < kPixels; ++p) {
    const unsigned column = strip * kPixels + p;
    if (column >= kOutputW) continue;
    const unsigned pixel = row * kOutputW + column;
    const unsigned place = kChannelsLast ? image * (kOutputH * kOutputW) + pixel
                                         : (image * kChannels + channel) * (kOutputH * kOutputW);
    const unsigned e = kChannelsLast ? place * kOutputPitch + channel : place + pixel;
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
$BIAS$$RESIDUAL$      sum[p][j] = $ACTIVATION$(sum[p][j]);
    }
    StoreVector<kWidth>(y0 + e, sum[p]);
  }
}
)";

constexpr const char* kPackedWeight =
    "LoadVector<kWidth>(packed_weights + (r * kS + s) * kChannels + channel, weight);";
constexpr const char* kWeight = "weight[0] = ToFloat(weights[(channel * kR + r) * kS + s]);";

GeneratedKernel DepthwiseKernel(const ConvProblem& p, int width, int pixels,
                                const KernelForm& form) {
  const bool channels_last = form.layout == MemoryLayout::kNhwc;
  GeneratedKernel kernel;
  kernel.arguments = {{Kind::kInput, 0}, {channels_last ? Kind::kPackedWeights : Kind::kWeights}};
  if (p.bias) kernel.arguments.push_back({Kind::kBias});
  if (p.residual) kernel.arguments.push_back({Kind::kResidual});
  kernel.arguments.push_back({Kind::kOutput, 0});
  kernel.variant = "v" + std::to_string(width) + "/p" + std::to_string(pixels);
  const int64_t work = p.n * p.c / width * p.output_h() * CeilDivide(p.output_w(), pixels);
  kernel.block = {kDepthwiseThreads, 1, 1};
  kernel.grid = {static_cast<unsigned>(CeilDivide(work, kDepthwiseThreads)), 1, 1};
  kernel.source =
      Constants({{"kWidth", width}, {"kPixels", pixels}, {"kThreads", kDepthwiseThreads}}) +
      WindowConstants(p, form);
  kernel.source +=
      Replace(kDepthwiseSource,
              {{"PARAMETERS", Parameters(kernel.arguments)},
               {"WEIGHT", channels_last ? kPackedWeight : kWeight},
               {"PROLOGUE", p.prologue_relu ? "Relu" : ""},
               {"BIAS", p.bias ? "      sum[p][j] += ToFloat(bias[channel + j]);\n" : ""},
               {"RESIDUAL", p.residual ? "      sum[p][j] += ToFloat(residual[kChannelsLast ? "
                                         "place * kResidualPitch + channel + j : "
                                         "e + j]);\n"
                                       : ""},
               {"ACTIVATION", ActivationFunction(p.activation)}});
  return kernel;
}

std::vector<GeneratedKernel> GenerateDepthwise(const Problem& problem, const KernelForm& form) {
  const auto* p = std::get_if<ConvProblem>(&problem);
  // 169: a 13 x 13 window; beyond it the unrolled text gets too long.
  if (p == nullptr || !p->is_depthwise() || p->r * p->s > 169) return {};
  const bool channels_last = form.layout == MemoryLayout::kNhwc;
  // In NCHW neighbours in memory are neighbours of one row, whose windows start at any address:
  // vectors would not be aligned.
  const int widest = channels_last ? VectorWidth(form, {p->c}) : 1;
  std::vector<GeneratedKernel> kernels;
  for (int width = widest; width >= std::max(1, widest / 4); width /= 2) {
    for (int pixels : {1, 2, 4}) {
      if (pixels > p->output_w()) continue;
      kernels.push_back(DepthwiseKernel(*p, width, pixels, form));
      // Of 100 convolutions of nasnet_mobile none was the fastest with more for a thread.
      const int64_t threads = p->n * p->c * p->output_h() * p->output_w() / (width * pixels);
      kernels.back().is_listed = width * pixels <= 2 || threads >= kThreadsToFill;
    }
  }
  return kernels;
}

}  // namespace

extern const GeneratedFamily kGeneratedDepthwise;
const GeneratedFamily kGeneratedDepthwise = {"depthwise", GenerateDepthwise, true};

}  // namespace plait::cuda
