#include <algorithm>

#include "gpu_worker/backends/cuda/generated/elements.h"
#include "gpu_worker/backends/cuda/generated/kernel.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"

namespace plait::cuda {
namespace {

using Kind = KernelArgument::Kind;

// One thread for kWidth elements of a gathered row; neighbouring threads copy along the row, so
// that reads are coalesced as far as rows are long, whatever the indices are. An index is read by
// every thread of its row, from the cache. Indices come from users: one beyond the rows would be an
// illegal address, which ends the process, or somebody else's numbers. It is clamped, and its place
// is left in the error word. Of several wrong ones any may be left there: whoever comes last.
std::vector<GeneratedKernel> GenerateGather(const Problem& problem, const KernelForm& form) {
  const auto* p = std::get_if<MovementProblem>(&problem);
  if (p == nullptr || p->kind != MovementProblem::Kind::kGather) return {};
  int64_t inner = 1;
  for (size_t d = p->axis + 1; d < p->inputs[0].size(); ++d) inner *= p->inputs[0][d];
  const int width = VectorWidth(form, {inner}, p->type);
  const int64_t vectors = ElementCount(OutputShapes(*p)[0]) / width;
  GeneratedKernel kernel;
  kernel.arguments = {{Kind::kInput, 0, p->type},
                      {Kind::kInput, 1, ElementType::kInt64},
                      {Kind::kOutput, 0, p->type},
                      {Kind::kErrorWord}};
  kernel.variant = "v" + std::to_string(width);
  kernel.block = {kBlockThreads, 1, 1};
  kernel.grid = {static_cast<unsigned>(CeilDivide(vectors, kBlockThreads)), 1, 1};
  kernel.source = ElementVectors(p->type);
  kernel.source += Constants({{"kVectors", vectors},
                              {"kWidth", width},
                              {"kThreads", kBlockThreads},
                              {"kInner", inner},
                              {"kRows", p->inputs[0][p->axis]},
                              {"kIndices", ElementCount(p->inputs[1])}});
  // An index below zero counts from the end, as in ONNX.
  kernel.source += Replace(R"(
PLAIT_KERNEL __launch_bounds__(kThreads)
plait_kernel(const $E$* __restrict__ x0, const long long* __restrict__ x1, $E$* __restrict__ y0,
             long long* __restrict__ error) {
  AwaitEarlierKernels();
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= kVectors) return;
  const unsigned e = i * kWidth;
  const unsigned row = e / kInner, outer = row / kIndices;
  const unsigned place = row % kIndices;
  long long index = x1[place];
  if (index < 0) index += kRows;
  if (index < 0 || index >= kRows) {
    // Threads of several blocks may come here, and any of their places will do.
    if (error != nullptr) *static_cast<volatile long long*>(error) = place + 1;
    index = index < 0 ? 0 : kRows - 1;
  }
  $COPY$<kWidth>(y0 + e, x0 + (outer * kRows + index) * kInner + e % kInner);
}
)",
                           {{"E", StoredName(p->type)}, {"COPY", VectorFunction("Copy", p->type)}});
  return {kernel};
}

}  // namespace

extern const GeneratedFamily kGeneratedGather;
const GeneratedFamily kGeneratedGather = {"gather", GenerateGather};

}  // namespace plait::cuda
