#include "gpu_worker/backends/cuda/generated/kernel.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"

namespace plait::cuda {
namespace {

using Kind = KernelArgument::Kind;
using Rows = RowsProblem::Kind;

// Softmaxes and reductions along an axis that is not the last one. A thread has kWidth rows that
// lie beside each other, so that neighbouring threads read neighbouring numbers; it goes along the
// axis as often as it has to, after the first time from the caches.
constexpr const char* kSource = R"(
PLAIT_KERNEL __launch_bounds__(kThreads) plait_kernel($PARAMETERS$) {
  AwaitEarlierKernels();
  const unsigned row = (blockIdx.x * kThreads + threadIdx.x) * kWidth;
  if (row >= kRows) return;
  const unsigned start = row / kInner * (kInner * kColumns) + row % kInner;
  const T* x = x0 + start;
  float value[kWidth], sum[kWidth], top[kWidth];
#pragma unroll
  for (int j = 0; j < kWidth; ++j) {
    sum[j] = 0.0f;
    top[j] = NegativeInfinity();
  }
  if (kNeedsTop) {
    for (int c = 0; c < kColumns; ++c) {
      LoadVector<kWidth>(x + c * kInner, value);
#pragma unroll
      for (int j = 0; j < kWidth; ++j) top[j] = Maximum(top[j], value[j]);
    }
  }
  if (kNeedsSum) {
    for (int c = 0; c < kColumns; ++c) {
      LoadVector<kWidth>(x + c * kInner, value);
#pragma unroll
      for (int j = 0; j < kWidth; ++j) sum[j] += $TERM$;
    }
  }
$RESULT$}
)";

constexpr const char* kOfEachElement = R"(
  for (int c = 0; c < kColumns; ++c) {
    LoadVector<kWidth>(x + c * kInner, value);
#pragma unroll
    for (int j = 0; j < kWidth; ++j) value[j] = $ELEMENT$;
    StoreVector<kWidth>(y0 + start + c * kInner, value);
  }
)";

constexpr const char* kOfEachRow = R"(
#pragma unroll
  for (int j = 0; j < kWidth; ++j) value[j] = $ROW$;
  StoreVector<kWidth>(y0 + row, value);
)";

std::string ResultSource(Rows kind) {
  switch (kind) {
    case Rows::kSoftmax:
      return Replace(kOfEachElement, {{"ELEMENT", "expf(value[j] - top[j]) / sum[j]"}});
    case Rows::kLogSoftmax:
      return Replace(kOfEachElement, {{"ELEMENT", "(value[j] - top[j]) - logf(sum[j])"}});
    case Rows::kReduceMean:
      return Replace(kOfEachRow, {{"ROW", "sum[j] * (1.0f / kColumns)"}});
    case Rows::kReduceMax:
      return Replace(kOfEachRow, {{"ROW", "top[j]"}});
    default:
      return Replace(kOfEachRow, {{"ROW", "sum[j]"}});
  }
}

GeneratedKernel StridedRowsKernel(const RowsProblem& p, int width) {
  GeneratedKernel kernel;
  kernel.arguments = {{Kind::kInput, 0}, {Kind::kOutput, 0}};
  kernel.variant = "v" + std::to_string(width);
  kernel.block = {kBlockThreads, 1, 1};
  kernel.grid = {static_cast<unsigned>(CeilDivide(p.rows / width, kBlockThreads)), 1, 1};
  kernel.source = Constants({{"kRows", p.rows},
                             {"kColumns", p.columns},
                             {"kInner", p.inner},
                             {"kThreads", kBlockThreads},
                             {"kWidth", width},
                             {"kNeedsTop", !p.reduces() || p.kind == Rows::kReduceMax ? 1 : 0},
                             {"kNeedsSum", p.kind == Rows::kReduceMax ? 0 : 1}});
  kernel.source += Replace(kSource, {{"PARAMETERS", Parameters(kernel.arguments)},
                                     {"TERM", p.reduces() ? "value[j]" : "expf(value[j] - top[j])"},
                                     {"RESULT", ResultSource(p.kind)}});
  return kernel;
}

std::vector<GeneratedKernel> GenerateStridedRows(const Problem& problem, const KernelForm& form) {
  const auto* p = std::get_if<RowsProblem>(&problem);
  if (p == nullptr || p->inner == 1 || p->normalizes()) return {};
  const int widest = VectorWidth(form, {p->inner});
  std::vector<GeneratedKernel> kernels = {StridedRowsKernel(*p, widest)};
  // Few rows want many threads rather than wide loads.
  if (widest > 1) kernels.push_back(StridedRowsKernel(*p, 1));
  return kernels;
}

}  // namespace

extern const GeneratedFamily kGeneratedStridedRows;
const GeneratedFamily kGeneratedStridedRows = {"strided_rows", GenerateStridedRows};

}  // namespace plait::cuda
