#include "gpu_worker/backends/cuda/generated/rows.h"

#include <algorithm>
#include <cstdio>

#include "gpu_worker/backends/cuda/problem/problem_shape.h"

namespace plait::cuda {
namespace {

using Kind = KernelArgument::Kind;
using Rows = RowsProblem::Kind;

// A thread can have 255 registers, but only 64 where 1024 share a multiprocessor's 65536: the
// longest rows may spill there.
constexpr int kPerThreadMax = 64;  // elements of a row that one thread keeps in registers
static_assert(kRowColumnsMax == kPerThreadMax * 1024);

// Every row is read once into registers; `RowSum` and `RowMax` join the threads of a row.
// A row belongs to one warp (four rows in a block of 128) or to one block. Within a warp nothing is
// synchronized. Across warps each writes its part, and every warp then reduces the parts for
// itself: the barrier in front keeps the parts of the last reduction until all have read them. 32:
// the most warps that a block has. A whole warp leaves at the end of the rows, never a part of one,
// as the exchange within warps needs all lanes.
constexpr const char* kReduce = R"(
template <bool kMax> __device__ inline float RowReduce(float x) {
  x = kMax ? WarpMax(x) : WarpSum(x);
  if (kRowThreads == 32) return x;
  __shared__ float parts[32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  __syncthreads();
  if (lane == 0) parts[warp] = x;
  __syncthreads();
  x = lane < kRowThreads / 32 ? parts[lane] : (kMax ? NegativeInfinity() : 0.0f);
  return kMax ? WarpMax(x) : WarpSum(x);
}
)";

// kVectors vectors per thread, kRowThreads vectors apart, so that neighbouring threads read
// neighbouring vectors. Memory traffic is one read and one write of the row: softmax and layer norm
// go over it three times, but in registers.
constexpr const char* kHead = R"(
PLAIT_KERNEL __launch_bounds__(kThreads) plait_kernel($PARAMETERS$) {
  AwaitEarlierKernels();
  const int row = blockIdx.x * (kThreads / kRowThreads) + threadIdx.x / kRowThreads;
  const int thread = threadIdx.x % kRowThreads;
  if (row >= kRows) return;
  const long long start = static_cast<long long>(row) * kColumns;
  float a[kVectors][kWidth];
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const int column = (v * kRowThreads + thread) * kWidth;
    if (column < kColumns) LoadVector<kWidth>(x0 + start + column, a[v]);
$RESIDUAL$  }
)";

constexpr const char* kAddResidual = R"(
    float r[kWidth];
    if (column < kColumns) {
      LoadVector<kWidth>(residual + start + column, r);
#pragma unroll
      for (int j = 0; j < kWidth; ++j) a[v][j] += r[j];
    }
)";

// Runs a statement on every element of the row that this thread holds.
constexpr const char* kForEach = R"(
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const int column = (v * kRowThreads + thread) * kWidth;
    if (column < kColumns) {
#pragma unroll
      for (int j = 0; j < kWidth; ++j) $STATEMENT$
      $AFTER$
    }
  }
)";

std::string ForEach(const std::string& statement, const std::string& after = "") {
  return Replace(kForEach, {{"STATEMENT", statement}, {"AFTER", after}});
}

std::string Store() { return "StoreVector<kWidth>(y0 + start + column, a[v]);"; }

std::string MaxSource() {
  return "  float top = NegativeInfinity();\n" + ForEach("top = Maximum(top, a[v][j]);") +
         "  top = RowReduce<true>(top);\n";
}

std::string SumSource(const std::string& name, const std::string& term) {
  return "  float " + name + " = 0.0f;\n" + ForEach(name + " += " + term + ";") + "  " + name +
         " = RowReduce<false>(" + name + ");\n";
}

// The mean, and the factor that makes the deviation one.
std::string Moments() {
  return SumSource("mean", "a[v][j]") + "  mean *= 1.0f / kColumns;\n" +
         SumSource("variance", "(a[v][j] - mean) * (a[v][j] - mean)") +
         "  const float factor = rsqrtf(variance * (1.0f / kColumns) + $EPSILON$);\n";
}

// Softmax subtracts the largest element, so that exp() cannot overflow; the variance is summed
// around the mean in a second pass, since the difference of squares would cancel.
std::string Body(Rows kind) {
  switch (kind) {
    case Rows::kSoftmax:
      return MaxSource() + ForEach("a[v][j] = expf(a[v][j] - top);") + SumSource("sum", "a[v][j]") +
             "  const float factor = 1.0f / sum;\n" + ForEach("a[v][j] *= factor;", Store());
    case Rows::kLogSoftmax:
      return MaxSource() + SumSource("sum", "expf(a[v][j] - top)") +
             // Beside a large maximum the sum of both would lose the logarithm's digits.
             "  const float log_sum = logf(sum);\n" +
             ForEach("a[v][j] = (a[v][j] - top) - log_sum;", Store());
    case Rows::kLayerNorm:
      return Moments() + ForEach(
                             "a[v][j] = (a[v][j] - mean) * factor * ToFloat(weights[column + j]) +"
                             " ToFloat(bias[column + j]);",
                             Store());
    case Rows::kRmsNorm:
      return SumSource("squares", "a[v][j] * a[v][j]") +
             "  const float factor = rsqrtf(squares * (1.0f / kColumns) + $EPSILON$);\n" +
             ForEach("a[v][j] = a[v][j] * factor * ToFloat(weights[column + j]);", Store());
    case Rows::kInstanceNorm:
      return Moments() + "  const float scale = factor * ToFloat(weights[row % kChannels]);\n" +
             "  const float shift = ToFloat(bias[row % kChannels]);\n" +
             ForEach("a[v][j] = (a[v][j] - mean) * scale + shift;", Store());
    case Rows::kReduceSum:
      return SumSource("sum", "a[v][j]") + "  if (thread == 0) y0[row] = FromFloat(sum);\n";
    case Rows::kReduceMean:
      return SumSource("sum", "a[v][j]") +
             "  if (thread == 0) y0[row] = FromFloat(sum * (1.0f / kColumns));\n";
    case Rows::kReduceMax:
      return MaxSource() + "  if (thread == 0) y0[row] = FromFloat(top);\n";
  }
  return "";
}

GeneratedKernel RowsKernel(const RowsProblem& p, int row_threads, int width) {
  GeneratedKernel kernel;
  kernel.arguments = {{Kind::kInput, 0}};
  if (p.normalizes()) kernel.arguments.push_back({Kind::kWeights});
  if (p.normalizes() && p.kind != Rows::kRmsNorm) kernel.arguments.push_back({Kind::kBias});
  if (p.residual) kernel.arguments.push_back({Kind::kResidual});
  kernel.arguments.push_back({Kind::kOutput, 0});
  // Four warps in a block: a block of one warp would leave a multiprocessor half empty, which holds
  // no more than 32 blocks (and 64 warps).
  const int threads = row_threads == 32 ? 128 : row_threads;
  kernel.variant = "t" + std::to_string(row_threads) + "/v" + std::to_string(width);
  kernel.block = {static_cast<unsigned>(threads), 1, 1};
  kernel.grid = {static_cast<unsigned>(CeilDivide(p.rows, threads / row_threads)), 1, 1};
  kernel.source = Constants({{"kRows", p.rows},
                             {"kColumns", p.columns},
                             {"kChannels", p.channels},
                             {"kThreads", threads},
                             {"kRowThreads", row_threads},
                             {"kWidth", width},
                             {"kVectors", CeilDivide(p.columns, int64_t{row_threads} * width)}});
  kernel.source += kReduce;
  kernel.source += Replace(kHead, {{"PARAMETERS", Parameters(kernel.arguments)},
                                   {"RESIDUAL", p.residual ? kAddResidual : ""}});
  // Nine digits name a float.
  char epsilon[40];
  std::snprintf(epsilon, sizeof(epsilon), "%.8ef", static_cast<double>(p.epsilon));
  kernel.source += Replace(Body(p.kind) + "}\n", {{"EPSILON", epsilon}});
  return kernel;
}

std::vector<GeneratedKernel> GenerateRowsProblem(const Problem& problem, const KernelForm& form) {
  const auto* p = std::get_if<RowsProblem>(&problem);
  return p == nullptr ? std::vector<GeneratedKernel>() : GenerateRows(*p, form);
}

}  // namespace

std::vector<GeneratedKernel> GenerateRows(const RowsProblem& problem, const KernelForm& form) {
  if (problem.inner != 1) return {};
  const int width = VectorWidth(form, {problem.columns});
  std::vector<GeneratedKernel> kernels;
  for (int threads : {32, 128, 256, 1024}) {
    const int64_t per_thread = CeilDivide(problem.columns, int64_t{threads} * width) * width;
    if (per_thread > kPerThreadMax) continue;
    // More threads than vectors in a row would only wait.
    if (threads > 32 && problem.columns <= threads * width / 2) continue;
    kernels.push_back(RowsKernel(problem, threads, width));
  }
  return kernels;
}

extern const GeneratedFamily kGeneratedRows;
const GeneratedFamily kGeneratedRows = {"rows", GenerateRowsProblem};

}  // namespace plait::cuda
