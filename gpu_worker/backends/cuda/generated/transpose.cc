#include <algorithm>

#include "gpu_worker/backends/cuda/generated/elements.h"
#include "gpu_worker/backends/cuda/generated/kernel.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"

namespace plait::cuda {
namespace {

using Kind = KernelArgument::Kind;

constexpr int kTile = 32;

// A transpose without dimensions of size one, and with dimensions that stay neighbours joined.
struct Collapsed {
  std::vector<int64_t> shape;        // of the input
  std::vector<int64_t> permutation;  // output dimension -> input dimension
};

// By an example: the input {2,3,4,5} with the permutation {0,2,3,1} (NCHW to NHWC) keeps dimensions
// 2 and 3 side by side and in order: {2,3,20} with {0,2,1}, a batch of two matrix transposes.
Collapsed Collapse(const std::vector<int64_t>& shape, const std::vector<int64_t>& permutation) {
  std::vector<int64_t> kept;  // input dimensions in the output's order
  for (int64_t d : permutation) {
    if (shape[d] != 1) kept.push_back(d);
  }
  const auto next = [&](int64_t dimension) {
    ++dimension;
    while (dimension < static_cast<int64_t>(shape.size()) && shape[dimension] == 1) ++dimension;
    return dimension;
  };
  std::vector<std::pair<int64_t, int64_t>> groups;  // first input dimension, size
  for (size_t i = 0; i < kept.size(); ++i) {
    if (i > 0 && next(kept[i - 1]) == kept[i]) {
      groups.back().second *= shape[kept[i]];
    } else {
      groups.emplace_back(kept[i], shape[kept[i]]);
    }
  }
  if (groups.empty()) groups.emplace_back(0, 1);
  std::vector<std::pair<int64_t, int64_t>> sorted = groups;
  std::sort(sorted.begin(), sorted.end());
  Collapsed collapsed;
  for (const auto& group : sorted) collapsed.shape.push_back(group.second);
  for (const auto& group : groups) {
    collapsed.permutation.push_back(std::find(sorted.begin(), sorted.end(), group) -
                                    sorted.begin());
  }
  return collapsed;
}

// The strides, in the input, of each output dimension.
std::vector<int64_t> InputStrides(const Collapsed& c) {
  const std::vector<int64_t> strides = StridesOf(c.shape, MemoryLayout::kNchw);
  std::vector<int64_t> result;
  for (int64_t d : c.permutation) result.push_back(strides[d]);
  return result;
}

// The sum of place[d] * strides[d], where `index` counts through the dimensions `used`.
std::string StridedOffsetSource(const std::string& index, const std::vector<int64_t>& shape,
                                const std::vector<int64_t>& strides,
                                const std::vector<bool>& used) {
  std::string text = "0u";
  int64_t counted = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    if (!used[d]) continue;
    text += " + " + index + " / " + std::to_string(counted) + "u % " + std::to_string(shape[d]) +
            "u * " + std::to_string(strides[d]) + "u";
    counted *= shape[d];
  }
  return text;
}

// What elements are read as, and what they are written as, which differ where they are cast.
struct MovedTypes {
  ElementType from = ElementType::kFloat;
  ElementType to = ElementType::kFloat;

  bool is_cast() const { return from != to; }
  std::vector<KernelArgument> arguments() const {
    return {{Kind::kInput, 0, from}, {Kind::kOutput, 0, to}};
  }
  // Of a vector of both kinds of elements.
  ElementType longest(Precision precision) const {
    return ElementBytes(from, precision) > ElementBytes(to, precision) ? from : to;
  }
};

// Moves kWidth elements to `e` from `offset`.
std::string VectorMove(const MovedTypes& types, const std::string& offset) {
  if (!types.is_cast()) {
    return "  " + VectorFunction("Copy", types.to) + "<kWidth>(y0 + e, x0 + (" + offset + "));\n";
  }
  return "  float x[kWidth];\n  " + VectorFunction("Load", types.from) + "<kWidth>(x0 + (" +
         offset + "), x);\n  " + VectorFunction("Store", types.to) + "<kWidth>(y0 + e, x);\n";
}

std::vector<int64_t> OutputShape(const Collapsed& c) {
  std::vector<int64_t> shape;
  for (int64_t d : c.permutation) shape.push_back(c.shape[d]);
  return shape;
}

// The last dimension stays: whole vectors move.
// Reads jump from row to row; within one they are along memory.
GeneratedKernel TransposedRows(const Collapsed& c, const KernelForm& form,
                               const MovedTypes& types) {
  GeneratedKernel kernel;
  kernel.arguments = types.arguments();
  const std::vector<int64_t> shape = OutputShape(c);
  const int width = VectorWidth(form, {shape.back()}, types.longest(form.precision));
  const int64_t vectors = ElementCount(shape) / width;
  kernel.variant = "rows/v" + std::to_string(width);
  kernel.block = {kBlockThreads, 1, 1};
  kernel.grid = {static_cast<unsigned>(CeilDivide(vectors, kBlockThreads)), 1, 1};
  kernel.source = ElementVectors(types.is_cast() ? ElementType::kFloat32 : types.to);
  kernel.source +=
      Constants({{"kVectors", vectors}, {"kWidth", width}, {"kThreads", kBlockThreads}});
  kernel.source += Replace(
      R"(
PLAIT_KERNEL __launch_bounds__(kThreads) plait_kernel($PARAMETERS$) {
  AwaitEarlierKernels();
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= kVectors) return;
  const unsigned e = i * kWidth;
$MOVE$}
)",
      {{"PARAMETERS", Parameters(kernel.arguments)},
       {"MOVE", VectorMove(types, StridedOffsetSource("e", shape, InputStrides(c),
                                                      std::vector<bool>(shape.size(), true)))}});
  return kernel;
}

// Of a tile, which is written across.
constexpr const char* kElement = "tile[threadIdx.x][i]";

// A tile of the input's last and the output's last dimension goes through shared memory, so that
// both sides are read and written along memory.
// A block of 32 x 8 threads moves a tile of 32 x 32 elements in four steps each way: a warp reads
// 32 elements along the input's last dimension (a) and writes 32 along the output's (b). Rows of 33
// elements: a warp that reads a column of the tile meets 32 banks instead of one. All other
// dimensions are counted by the block's number.
GeneratedKernel Tiled(const Collapsed& c, const MovedTypes& types) {
  const std::vector<int64_t> shape = OutputShape(c);
  const std::vector<int64_t> input_strides = InputStrides(c);
  const std::vector<int64_t> output_strides = StridesOf(shape, MemoryLayout::kNchw);
  const auto last = static_cast<int64_t>(c.shape.size()) - 1;
  const size_t across =
      std::find(c.permutation.begin(), c.permutation.end(), last) - c.permutation.begin();
  std::vector<bool> outer(shape.size(), true);
  outer[across] = false;
  outer[shape.size() - 1] = false;
  const int64_t tiles_a = CeilDivide(shape[across], kTile);
  const int64_t tiles_b = CeilDivide(shape.back(), kTile);
  const int64_t batches = ElementCount(shape) / shape[across] / shape.back();
  GeneratedKernel kernel;
  kernel.arguments = types.arguments();
  kernel.variant = "tiled";
  kernel.block = {kTile, kBlockThreads / kTile, 1};
  kernel.grid = {static_cast<unsigned>(tiles_a * tiles_b * batches), 1, 1};
  kernel.source = Constants({{"kTile", kTile},
                             {"kStep", kBlockThreads / kTile},
                             {"kTilesA", tiles_a},
                             {"kTilesB", tiles_b},
                             {"kSizeA", shape[across]},
                             {"kSizeB", shape.back()},
                             {"kInputStrideB", input_strides.back()},
                             {"kOutputStrideA", output_strides[across]}});
  kernel.source += Replace(
      R"(
PLAIT_KERNEL __launch_bounds__(kTile * kStep) plait_kernel($PARAMETERS$) {
  AwaitEarlierKernels();
  __shared__ $E$ tile[kTile][kTile + 1];
  const unsigned a0 = blockIdx.x % kTilesA * kTile;
  const unsigned b0 = blockIdx.x / kTilesA % kTilesB * kTile;
  const unsigned batch = blockIdx.x / (kTilesA * kTilesB);
  const $E$* from = x0 + ($INPUT$);
  $TO$* to = y0 + ($OUTPUT$);
  for (unsigned i = threadIdx.y; i < kTile; i += kStep) {
    const unsigned a = a0 + threadIdx.x, b = b0 + i;
    if (a < kSizeA && b < kSizeB) tile[i][threadIdx.x] = from[b * kInputStrideB + a];
  }
  __syncthreads();
  for (unsigned i = threadIdx.y; i < kTile; i += kStep) {
    const unsigned a = a0 + i, b = b0 + threadIdx.x;
    if (a < kSizeA && b < kSizeB) to[a * kOutputStrideA + b] = $ELEMENT$;
  }
}
)",
      {{"PARAMETERS", Parameters(kernel.arguments)},
       {"E", StoredName(types.from)},
       {"TO", StoredName(types.to)},
       {"ELEMENT", types.is_cast() ? CastFunction(types.to) + std::string("(") + kElement + ")"
                                   : std::string(kElement)},
       {"INPUT", StridedOffsetSource("batch", shape, input_strides, outer)},
       {"OUTPUT", StridedOffsetSource("batch", shape, output_strides, outer)}});
  return kernel;
}

std::vector<GeneratedKernel> GenerateTranspose(const Problem& problem, const KernelForm& form) {
  const auto* p = std::get_if<MovementProblem>(&problem);
  if (p == nullptr || p->kind != MovementProblem::Kind::kTranspose) return {};
  const Collapsed c = Collapse(p->inputs[0], p->permutation);
  const bool last_stays = c.permutation.back() + 1 == static_cast<int64_t>(c.shape.size());
  const MovedTypes types = {p->type, OutputType(problem)};
  return {last_stays ? TransposedRows(c, form, types) : Tiled(c, types)};
}

}  // namespace

extern const GeneratedFamily kGeneratedTranspose;
const GeneratedFamily kGeneratedTranspose = {"transpose", GenerateTranspose};

}  // namespace plait::cuda
