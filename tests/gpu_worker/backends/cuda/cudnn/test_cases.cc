#include "tests/gpu_worker/backends/cuda/cudnn/test_cases.h"

#include <cstdint>
#include <limits>

#include <dlfcn.h>

// cuDNN, cuBLASLt and the runtime compilers leak where the leak checker cannot name them. Ours was
// checked with this function taken out.
extern "C" int __lsan_is_turned_off() { return 1; }

namespace plait::cuda {
namespace {

ConvProblem Conv3x3() {
  ConvProblem conv;
  conv.c = conv.k = 64;
  conv.h = conv.w = 56;
  conv.r = conv.s = 3;
  conv.pad = {1, 1, 1, 1};
  return conv;
}

ConvProblem WithEpilogue(ConvProblem conv, bool residual, Activation activation) {
  conv.bias = true;
  conv.residual = residual;
  conv.activation = activation;
  return conv;
}

GemmProblem ProjectionGemm(bool residual, Activation activation) {
  GemmProblem gemm;
  gemm.m = 128;
  gemm.n = gemm.k = 768;
  gemm.bias = residual || activation != Activation::kNone;
  gemm.residual = residual;
  gemm.activation = activation;
  return gemm;
}

AttentionProblem Attention(bool mask, bool causal) {
  AttentionProblem attention;
  attention.heads = 12;
  attention.query = attention.keys = 128;
  attention.dim = 64;
  attention.mask = mask;
  attention.causal = causal;
  return attention;
}

PoolProblem Pool(PoolProblem::Mode mode) {
  PoolProblem pool;
  pool.mode = mode;
  pool.c = 64;
  pool.h = pool.w = 112;
  pool.r = pool.s = 3;
  pool.stride = {2, 2};
  pool.pad = {1, 1, 1, 1};
  pool.output_h = pool.output_w = 56;
  return pool;
}

RowsProblem Rows(RowsProblem::Kind kind, bool residual) {
  RowsProblem rows;
  rows.kind = kind;
  rows.rows = 128;
  rows.columns = 768;
  rows.residual = residual;
  return rows;
}

void AppendConvs(std::vector<CudnnCase>* cases) {
  const ConvProblem conv = Conv3x3();
  cases->push_back({"conv", conv});
  cases->push_back({"conv_bias_relu", WithEpilogue(conv, false, Activation::kRelu)});
  cases->push_back({"conv_residual_bias_relu", WithEpilogue(conv, true, Activation::kRelu)});
  cases->push_back({"conv_bias_silu", WithEpilogue(conv, false, Activation::kSilu)});
  cases->push_back({"conv_bias_gelu_tanh", WithEpilogue(conv, false, Activation::kGeluTanh)});
  cases->push_back({"conv_bias_relu6", WithEpilogue(conv, false, Activation::kRelu6)});
  ConvProblem prologue = conv;
  prologue.prologue_relu = true;
  cases->push_back({"relu_conv", prologue});
  ConvProblem grouped = conv;
  grouped.c = grouped.k = 128;
  grouped.groups = 32;
  cases->push_back({"grouped_bias_relu", WithEpilogue(grouped, false, Activation::kRelu)});
  cases->push_back({"grouped_residual_bias_relu", WithEpilogue(grouped, true, Activation::kRelu)});
  ConvProblem depthwise = conv;
  depthwise.groups = depthwise.c;
  cases->push_back({"depthwise", depthwise});
  cases->push_back({"depthwise_bias_relu", WithEpilogue(depthwise, false, Activation::kRelu)});
  ConvProblem pointwise = conv;
  pointwise.r = pointwise.s = 1;
  pointwise.pad = {0, 0, 0, 0};
  cases->push_back({"conv_1x1_bias_relu", WithEpilogue(pointwise, false, Activation::kRelu)});
  ConvProblem strided = conv;
  strided.c = 3;
  strided.h = strided.w = 224;
  strided.r = strided.s = 7;
  strided.stride = {2, 2};
  strided.pad = {3, 3, 3, 3};
  cases->push_back({"conv_7x7_stride2", WithEpilogue(strided, false, Activation::kRelu)});
}

}  // namespace

std::vector<CudnnCase> CudnnCases() {
  std::vector<CudnnCase> cases;
  AppendConvs(&cases);
  cases.push_back({"matmul", ProjectionGemm(false, Activation::kNone)});
  cases.push_back({"matmul_bias_gelu", ProjectionGemm(false, Activation::kGelu)});
  cases.push_back({"matmul_residual_bias", ProjectionGemm(true, Activation::kNone)});
  GemmProblem batched = ProjectionGemm(false, Activation::kNone);
  batched.batch = 12;
  batched.n = 128;
  batched.k = 64;
  batched.weights = false;
  batched.transpose_b = true;
  cases.push_back({"batched_matmul", batched});
  cases.push_back({"attention", Attention(false, false)});
  cases.push_back({"attention_mask", Attention(true, false)});
  AttentionProblem by_keys = Attention(true, false);
  by_keys.mask_query = false;
  cases.push_back({"attention_mask_by_keys", by_keys});
  AttentionProblem by_heads = Attention(true, false);
  by_heads.mask_heads = true;
  cases.push_back({"attention_mask_by_heads", by_heads});
  cases.push_back({"attention_causal", Attention(false, true)});
  cases.push_back({"max_pool", Pool(PoolProblem::Mode::kMax)});
  cases.push_back({"average_pool", Pool(PoolProblem::Mode::kAverage)});
  cases.push_back({"average_pool_padding", Pool(PoolProblem::Mode::kAverageWithPadding)});
  cases.push_back({"layer_norm", Rows(RowsProblem::Kind::kLayerNorm, false)});
  cases.push_back({"layer_norm_residual", Rows(RowsProblem::Kind::kLayerNorm, true)});
  cases.push_back({"softmax", Rows(RowsProblem::Kind::kSoftmax, false)});
  ScaleShiftProblem scale_shift;
  scale_shift.c = 64;
  scale_shift.spatial = 3136;
  scale_shift.activation = Activation::kRelu;
  cases.push_back({"scale_shift_relu", scale_shift});
  return cases;
}

Problem CudnnCaseProblem(const std::string& name) {
  for (const CudnnCase& known : CudnnCases()) {
    if (known.name == name) return known.problem;
  }
  return Problem();
}

std::string LoadAnyDriver() {
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) != nullptr) return "";
  // Loaded under the driver's soname, so that cuDNN's own dlopen finds it.
  if (dlopen(PLAIT_FAKE_LIBCUDA, RTLD_NOW | RTLD_LOCAL) != nullptr) return "";
  return dlerror();
}

std::vector<CudnnCase> HostileProblems() {
  std::vector<CudnnCase> cases;
  const auto conv = [&](const char* name, auto change) {
    ConvProblem problem = Conv3x3();
    change(problem);
    cases.push_back({name, problem});
  };
  conv("no channels", [](ConvProblem& p) { p.c = 0; });
  conv("negative height", [](ConvProblem& p) { p.h = -56; });
  conv("no stride", [](ConvProblem& p) { p.stride = {0, 1}; });
  conv("no groups", [](ConvProblem& p) { p.groups = 0; });
  conv("groups that do not divide", [](ConvProblem& p) { p.groups = 7; });
  conv("window beyond the image", [](ConvProblem& p) { p.r = 100; });
  conv("negative padding", [](ConvProblem& p) { p.pad = {-1, 0, 0, 0}; });
  conv("huge batch", [](ConvProblem& p) { p.n = int64_t{1} << 40; });
  conv("overflowing sizes",
       [](ConvProblem& p) { p.h = p.w = p.c = std::numeric_limits<int64_t>::max(); });
  GemmProblem gemm = ProjectionGemm(false, Activation::kNone);
  gemm.k = 0;
  cases.push_back({"gemm without depth", gemm});
  gemm.k = int64_t{1} << 50;
  cases.push_back({"gemm of huge depth", gemm});
  AttentionProblem attention = Attention(true, true);
  attention.dim = 0;
  cases.push_back({"attention without dimension", attention});
  PoolProblem pool = Pool(PoolProblem::Mode::kMax);
  pool.output_h = 0;
  cases.push_back({"pool without output", pool});
  RowsProblem rows = Rows(RowsProblem::Kind::kLayerNorm, false);
  rows.columns = -1;
  cases.push_back({"negative row", rows});
  cases.push_back({"scale of nothing", ScaleShiftProblem{.n = 1, .c = 0, .spatial = 1}});
  return cases;
}

}  // namespace plait::cuda
