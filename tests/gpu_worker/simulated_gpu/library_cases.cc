#include <utility>

#include "tests/gpu_worker/simulated_gpu/library_fixture.h"

namespace plait::simulated_gpu {
namespace {

using cuda::Activation;
using cuda::AttentionProblem;
using cuda::ConvProblem;
using cuda::GemmProblem;
using cuda::MemoryLayout;
using cuda::PoolProblem;
using cuda::Precision;
using cuda::RowsProblem;
using cuda::ScaleShiftProblem;

constexpr Precision kPrecisions[] = {Precision::kStrict, Precision::kTf32, Precision::kFp16,
                                     Precision::kBf16};
constexpr MemoryLayout kLayouts[] = {MemoryLayout::kNchw, MemoryLayout::kNhwc};

ConvProblem Conv() {
  ConvProblem conv;
  conv.c = 16;
  conv.k = 24;
  conv.h = 9;
  conv.w = 11;
  conv.r = conv.s = 3;
  conv.pad = {1, 1, 1, 1};
  return conv;
}

// Each is another thing that a descriptor says.
std::vector<std::pair<std::string, ConvProblem>> Convs() {
  std::vector<std::pair<std::string, ConvProblem>> convs;
  const auto add = [&](const char* name, auto change) {
    ConvProblem conv = Conv();
    change(conv);
    convs.emplace_back(name, conv);
  };
  add("conv", [](ConvProblem&) {});
  add("conv_batch", [](ConvProblem& c) { c.n = 3; });
  add("conv_strided", [](ConvProblem& c) { c.stride = {2, 3}; });
  add("conv_dilated", [](ConvProblem& c) { c.dilation = {2, 1}, c.pad = {2, 1, 2, 1}; });
  add("conv_padded_unevenly", [](ConvProblem& c) { c.pad = {0, 2, 1, 0}; });
  add("conv_flat", [](ConvProblem& c) { c.r = 1, c.s = 7, c.pad = {0, 3, 0, 3}; });
  add("conv_1x1", [](ConvProblem& c) { c.r = c.s = 1, c.pad = {}, c.c = 32; });
  add("conv_stem", [](ConvProblem& c) {
    c.c = 3, c.h = c.w = 21, c.r = c.s = 7, c.stride = {2, 2}, c.pad = {3, 3, 3, 3};
  });
  add("conv_bias_relu", [](ConvProblem& c) { c.bias = true, c.activation = Activation::kRelu; });
  add("conv_residual_bias_relu",
      [](ConvProblem& c) { c.bias = c.residual = true, c.activation = Activation::kRelu; });
  add("conv_bias_silu", [](ConvProblem& c) { c.bias = true, c.activation = Activation::kSilu; });
  add("conv_bias_relu6", [](ConvProblem& c) { c.bias = true, c.activation = Activation::kRelu6; });
  add("conv_bias_gelu_tanh",
      [](ConvProblem& c) { c.bias = true, c.activation = Activation::kGeluTanh; });
  add("relu_conv", [](ConvProblem& c) { c.prologue_relu = true; });
  add("conv_grouped", [](ConvProblem& c) { c.c = c.k = 32, c.groups = 4, c.bias = true; });
  add("conv_depthwise", [](ConvProblem& c) { c.c = c.k = c.groups = 16; });
  add("conv_1x1_bias_residual",
      [](ConvProblem& c) { c.r = c.s = 1, c.pad = {}, c.bias = c.residual = true; });
  return convs;
}

std::vector<std::pair<std::string, GemmProblem>> Gemms() {
  std::vector<std::pair<std::string, GemmProblem>> gemms;
  const auto add = [&](const char* name, auto change) {
    GemmProblem gemm{.m = 24, .n = 40, .k = 72};
    change(gemm);
    gemms.emplace_back(name, gemm);
  };
  add("gemm", [](GemmProblem&) {});
  add("gemm_odd", [](GemmProblem& g) { g.m = 7, g.n = 13, g.k = 33; });
  add("gemm_row", [](GemmProblem& g) { g.m = 1, g.n = 64, g.k = 256; });
  add("gemm_bias", [](GemmProblem& g) { g.bias = true; });
  add("gemm_bias_relu", [](GemmProblem& g) { g.bias = true, g.activation = Activation::kRelu; });
  add("gemm_bias_gelu", [](GemmProblem& g) { g.bias = true, g.activation = Activation::kGelu; });
  add("gemm_gelu_tanh", [](GemmProblem& g) { g.activation = Activation::kGeluTanh; });
  add("gemm_residual_bias", [](GemmProblem& g) { g.residual = g.bias = true; });
  add("gemm_transposed_b", [](GemmProblem& g) { g.transpose_b = true; });
  add("gemm_transposed_a", [](GemmProblem& g) { g.transpose_a = true, g.weights = false; });
  add("gemm_batch", [](GemmProblem& g) { g.batch = 3, g.weights = false; });
  add("gemm_batch_transposed",
      [](GemmProblem& g) { g.batch = 3, g.weights = false, g.transpose_a = g.transpose_b = true; });
  add("gemm_batch_of_rows", [](GemmProblem& g) { g.batch = 3, g.bias = true; });
  add("gemm_deep", [](GemmProblem& g) { g.m = 8, g.n = 16, g.k = 1024; });
  return gemms;
}

std::vector<std::pair<std::string, AttentionProblem>> Attentions() {
  std::vector<std::pair<std::string, AttentionProblem>> attentions;
  const auto add = [&](const char* name, auto change) {
    AttentionProblem attention{.batch = 2, .heads = 3, .query = 16, .keys = 24, .dim = 64};
    change(attention);
    attentions.emplace_back(name, attention);
  };
  add("attention", [](AttentionProblem&) {});
  add("attention_scaled", [](AttentionProblem& a) { a.scale = 0.25F; });
  add("attention_mask", [](AttentionProblem& a) { a.mask = true; });
  add("attention_mask_of_keys", [](AttentionProblem& a) { a.mask = true, a.mask_query = false; });
  add("attention_mask_of_heads", [](AttentionProblem& a) { a.mask = a.mask_heads = true; });
  add("attention_causal", [](AttentionProblem& a) { a.causal = true, a.keys = a.query; });
  add("attention_heads_in_rows", [](AttentionProblem& a) {
    // [batch, rows, heads, dim], as a product writes them.
    const auto rows = [&](int64_t count) {
      return AttentionProblem::Strides{count * a.heads * a.dim, a.dim, a.heads * a.dim, 1};
    };
    a.query_strides = a.result_strides = rows(a.query);
    a.key_strides = a.value_strides = rows(a.keys);
  });
  return attentions;
}

void AppendImages(std::vector<LibraryCase>* cases) {
  for (const auto& [name, conv] : Convs()) {
    for (const Precision precision : kPrecisions) {
      for (const MemoryLayout layout : kLayouts) {
        cases->push_back({name, conv, precision, layout});
      }
    }
  }
  for (const auto mode : {PoolProblem::Mode::kMax, PoolProblem::Mode::kAverage,
                          PoolProblem::Mode::kAverageWithPadding}) {
    PoolProblem pool{.mode = mode, .n = 2, .c = 16, .h = 9, .w = 12, .r = 3, .s = 2};
    pool.stride = {2, 2};
    pool.pad = {1, 0, 1, 0};
    pool.output_h = 5;
    pool.output_w = 6;
    for (const Precision precision : {Precision::kStrict, Precision::kFp16}) {
      for (const MemoryLayout layout : kLayouts) {
        cases->push_back({"pool", pool, precision, layout});
      }
    }
  }
  for (const MemoryLayout layout : kLayouts) {
    cases->push_back(
        {"scale_shift",
         ScaleShiftProblem{.n = 2, .c = 16, .spatial = 35, .activation = Activation::kRelu},
         Precision::kStrict, layout});
  }
}

// Images that are parts of others, some aligned to their elements alone.
void AppendParts(std::vector<LibraryCase>* cases) {
  ConvProblem pointwise = {.n = 2, .c = 16, .h = 5, .w = 7, .k = 8, .bias = true};
  ConvProblem with_residual = pointwise;
  with_residual.residual = true;
  for (const Precision precision : {Precision::kStrict, Precision::kFp16}) {
    for (const auto& [name, conv] : {std::pair("conv_of_parts", Conv()),
                                     {"pointwise_of_parts", pointwise},
                                     {"pointwise_with_residual_of_parts", with_residual}}) {
      for (const int64_t apart : {16, 3}) {
        const cuda::PixelPitch in{conv.c, conv.c + apart}, out{conv.k, conv.k + apart};
        LibraryCase parts{name, conv, precision, MemoryLayout::kNhwc};
        parts.pitches = {.inputs = {in}, .outputs = {out}};
        if (conv.residual) parts.pitches.residual = out;
        const int64_t bytes = apart * cuda::ElementBytes(precision);
        parts.alignment.inputs = parts.alignment.outputs = bytes & -bytes;
        cases->push_back(std::move(parts));
      }
    }
  }
}

}  // namespace

std::vector<LibraryCase> LibraryCases() {
  std::vector<LibraryCase> cases;
  AppendImages(&cases);
  AppendParts(&cases);
  for (const Precision precision : kPrecisions) {
    for (const auto& [name, gemm] : Gemms()) cases.push_back({name, gemm, precision});
    for (const auto& [name, attention] : Attentions()) {
      cases.push_back({name, attention, precision});
    }
    RowsProblem rows{.kind = RowsProblem::Kind::kLayerNorm, .rows = 5, .columns = 64};
    rows.epsilon = 1e-3F;
    cases.push_back({"layer_norm", rows, precision});
    // A slice that is not copied: aligned to its elements alone.
    const int64_t bytes = cuda::ElementBytes(precision);
    LibraryCase badly = {"gemm_aligned_badly", Gemms()[0].second, precision};
    badly.alignment = {bytes, bytes, bytes, bytes, bytes};
    cases.push_back(badly);
    // Some algorithms want the bias aligned better than to the 16 bytes that are always there.
    cases.push_back({"gemm_with_bias_at_16_bytes",
                     GemmProblem{.m = 64, .n = 64, .k = 64, .bias = true}, precision});
    cases.back().alignment.bias = 16;
    badly.name = "conv_aligned_badly";
    badly.problem = Conv();
    badly.layout = MemoryLayout::kNhwc;
    cases.push_back(badly);
  }
  return cases;
}

}  // namespace plait::simulated_gpu
