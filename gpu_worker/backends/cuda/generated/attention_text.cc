#include "gpu_worker/backends/cuda/generated/attention_text.h"

#include <algorithm>
#include <cstdio>

#include "gpu_worker/backends/cuda/problem/problem_shape.h"
#include "gpu_worker/backends/cuda/problem/strict_kernels.h"

namespace plait::cuda {
namespace {

using Kind = KernelArgument::Kind;

constexpr int64_t kSharedBytesMax = 48 << 10;  // without asking for more
constexpr size_t kListed = 4;

constexpr const char* kMaskElement =
    "ToFloat(x3[batch * kMaskBatch + head * kMaskHead + row * kMaskStep + column])";

// LoadRows: numbers of kTileKeys rows from `first` on, on their way to shared memory; 0 behind the
// last key.
constexpr const char* kRowsSource = R"(struct alignas(16) Quad { float v[4]; };
constexpr int kKeyLoads = (kTileKeys * (kDim / kKeyWidth) + kThreads - 1) / kThreads;
constexpr int kValueLoads = (kTileKeys * (kDim / kValueWidth) + kThreads - 1) / kThreads;
template <int kWidth, int kLoads>
__device__ inline void LoadRows(const T* __restrict__ from, int row_stride, int stride, int first,
                                float (&loaded)[kLoads][kWidth]) {
  constexpr int kRow = kDim / kWidth;
#pragma unroll
  for (int i = 0; i < kLoads; ++i) {
    const int place = i * kThreads + threadIdx.x, row = place / kRow, d = place % kRow * kWidth;
    const bool is_there = place < kTileKeys * kRow && first + row < kKeys;
    if (is_there) LoadVector<kWidth>(from + (first + row) * row_stride + d * stride, loaded[i]);
#pragma unroll
    for (int j = 0; j < kWidth; ++j) loaded[i][j] = is_there ? loaded[i][j] : 0.0f;
  }
}
template <int kWidth, int kLoads>
__device__ inline void StoreRows(const float (&loaded)[kLoads][kWidth], int row_floats, float* to) {
  constexpr int kRow = kDim / kWidth;
#pragma unroll
  for (int i = 0; i < kLoads; ++i) {
    const int place = i * kThreads + threadIdx.x;
    if (place >= kTileKeys * kRow) continue;
    float* const row = to + place / kRow * row_floats + place % kRow * kWidth;
    if constexpr (kWidth == 4) {
      *reinterpret_cast<Quad*>(row) = {loaded[i][0], loaded[i][1], loaded[i][2], loaded[i][3]};
    } else {
#pragma unroll
      for (int j = 0; j < kWidth; ++j) row[j] = loaded[i][j];
    }
  }
}
)";

constexpr const char* kHeadsSource = R"(
  const int head = blockIdx.x / kQueryTiles % kHeads, batch = blockIdx.x / kQueryTiles / kHeads;
  const T* const q = x0 + batch * kQueryBatch + head * kQueryHead;
  const T* const k = x1 + batch * kKeyBatch + head * kKeyHead;
  const T* const v = x2 + batch * kValueBatch + head * kValueHead;
)";

// Opens the loop over tiles, with the tile from key `first` on in registers.
constexpr const char* kBeginTileSource = R"(
  const int causal_end = first_query + kTileQueries < kKeys ? first_query + kTileQueries : kKeys;
  const int end = kCausal ? causal_end : kKeys;
  float next_keys[kKeyLoads][kKeyWidth], next_values[kValueLoads][kValueWidth];
  if (kStages == 2) {
    LoadRows<kKeyWidth>(k, kKeyStep, kKeyStride, 0, next_keys);
    LoadRows<kValueWidth>(v, kValueStep, kValueStride, 0, next_values);
  }
  for (int first = 0; first < end; first += kTileKeys) {
    if (kStages == 1) {
      LoadRows<kKeyWidth>(k, kKeyStep, kKeyStride, first, next_keys);
      LoadRows<kValueWidth>(v, kValueStep, kValueStride, first, next_values);
    }
)";

// Behind the tile's way to shared memory.
constexpr const char* kLoadNextTileSource = R"(    if (kStages == 2 && first + kTileKeys < end) {
      LoadRows<kKeyWidth>(k, kKeyStep, kKeyStride, first + kTileKeys, next_keys);
      LoadRows<kValueWidth>(v, kValueStep, kValueStride, first + kTileKeys, next_values);
    }
)";

// Of rows whose numbers lie one behind the other.
int RowWidth(const AttentionProblem& p, const AttentionProblem::Strides& strides,
             const KernelForm& form) {
  if (strides[3] != 1) return 1;
  return std::min(4, VectorWidth(form, {p.dim, strides[0], strides[1], strides[2]}));
}

std::string StrideConstants(const std::string& name, const AttentionProblem::Strides& strides) {
  return Constants({{("k" + name + "Batch").c_str(), strides[0]},
                    {("k" + name + "Head").c_str(), strides[1]},
                    {("k" + name + "Step").c_str(), strides[2]},
                    {("k" + name + "Stride").c_str(), strides[3]}});
}

std::string MaskConstants(const AttentionProblem& p) {
  if (!p.mask) return "";
  const int64_t of_head = p.keys * (p.mask_query ? p.query : 1);
  const int64_t of_batch = of_head * (p.mask_heads ? p.heads : 1);
  return Constants({{"kMaskBatch", p.mask_batch ? of_batch : 0},
                    {"kMaskHead", p.mask_heads ? of_head : 0},
                    {"kMaskStep", p.mask_query ? p.keys : 0}});
}

// All but the text: the choice, sizes, and for each operand how far its axes' neighbours lie apart.
GeneratedKernel HeadOf(const AttentionProblem& p, const AttentionTile& tile,
                       const KernelForm& form) {
  const auto key_strides = HeadStrides(p, p.key_strides, p.keys);
  const auto value_strides = HeadStrides(p, p.value_strides, p.keys);
  const auto result_strides = HeadStrides(p, p.result_strides, p.query);
  GeneratedKernel kernel;
  kernel.arguments = {{Kind::kInput, 0}, {Kind::kInput, 1}, {Kind::kInput, 2}};
  if (p.mask) kernel.arguments.push_back({Kind::kInput, 3});
  kernel.arguments.push_back({Kind::kOutput, 0});
  kernel.variant = "q" + std::to_string(tile.queries) + "/k" + std::to_string(tile.keys) + "/w" +
                   std::to_string(tile.warps) + "/s" + std::to_string(tile.stages);
  const int64_t query_tiles = CeilDivide(p.query, tile.queries);
  kernel.block = {static_cast<unsigned>(tile.warps * 32), 1, 1};
  kernel.grid = {static_cast<unsigned>(p.batch * p.heads * query_tiles), 1, 1};
  kernel.source = Constants({{"kWarps", tile.warps},
                             {"kThreads", tile.warps * 32},
                             {"kTileQueries", tile.queries},
                             {"kTileKeys", tile.keys},
                             {"kStages", tile.stages},
                             {"kQueryTiles", query_tiles},
                             {"kHeads", p.heads},
                             {"kQueries", p.query},
                             {"kKeys", p.keys},
                             {"kDim", p.dim},
                             {"kMask", p.mask ? 1 : 0},
                             {"kCausal", p.causal ? 1 : 0},
                             {"kKeyWidth", RowWidth(p, key_strides, form)},
                             {"kValueWidth", RowWidth(p, value_strides, form)},
                             {"kResultWidth", RowWidth(p, result_strides, form)}});
  kernel.source += StrideConstants("Query", HeadStrides(p, p.query_strides, p.query)) +
                   StrideConstants("Key", key_strides) + StrideConstants("Value", value_strides) +
                   StrideConstants("Result", result_strides) + MaskConstants(p);
  return kernel;
}

std::string SourceOf(const char* text, const AttentionProblem& p, const GeneratedKernel& kernel) {
  char scale[32];
  std::snprintf(scale, sizeof(scale), "%.9ef", static_cast<double>(p.factor()));
  return Replace(text, {{"PARAMETERS", Parameters(kernel.arguments)},
                        {"SCALE", scale},
                        {"MASK", p.mask ? kMaskElement : "0.0f"},
                        {"ROWS", kRowsSource},
                        {"HEADS", kHeadsSource},
                        {"BEGIN_TILE", kBeginTileSource},
                        {"LOAD_NEXT_TILE", kLoadNextTileSource}});
}

// Waves of blocks, each as long as what its multiprocessor computes for the blocks that it has, and
// what their tiles wait for.
double ExpectedCycles(const AttentionProblem& p, const AttentionTile& tile,
                      const AttentionCost& cost, const KernelDevice& device) {
  constexpr double kWarpsToFill = 12;  // that hide what an instruction waits for
  const int64_t threads = int64_t{tile.warps} * 32;
  const int64_t staged = tile.stages == 1 ? 0 : 2 * tile.keys * p.dim / threads;
  const int64_t resident =
      std::max<int64_t>(1, std::min({device.shared_bytes / (cost.shared_bytes + 1024),
                                     device.registers / ((cost.registers + staged) * threads),
                                     device.threads / threads}));
  const int64_t blocks = p.batch * p.heads * CeilDivide(p.query, tile.queries);
  const int64_t side_by_side = std::min(resident, CeilDivide(blocks, device.multiprocessors));
  const double filled =
      std::min(1.0, static_cast<double>(side_by_side * tile.warps) / kWarpsToFill);
  const double wait = tile.stages == 1 ? 600 : 200;  // for a tile from memory
  const double of_tile =
      static_cast<double>(side_by_side * tile.warps) * cost.warp_cycles / filled + wait;
  const int64_t waves = CeilDivide(blocks, device.multiprocessors * resident);
  return static_cast<double>(waves * CeilDivide(p.keys, tile.keys)) * of_tile;
}

}  // namespace

std::vector<GeneratedKernel> AttentionKernels(
    const Problem& problem, const KernelForm& form, std::span<const AttentionTile> tiles,
    AttentionCost (*cost_of)(const AttentionProblem&, const AttentionTile&), const char* text) {
  const auto* p = std::get_if<AttentionProblem>(&problem);
  if (p == nullptr || p->dim > kAttentionDimMax || form.layout != MemoryLayout::kNchw) return {};
  std::vector<std::pair<double, AttentionTile>> ranked;
  for (const AttentionTile& tile : tiles) {
    const AttentionCost cost = cost_of(*p, tile);
    if (cost.shared_bytes > kSharedBytesMax) continue;
    ranked.emplace_back(ExpectedCycles(*p, tile, cost, form.device), tile);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<GeneratedKernel> kernels;
  for (const auto& [cycles, tile] : ranked) {
    GeneratedKernel& kernel = kernels.emplace_back(HeadOf(*p, tile, form));
    kernel.source += SourceOf(text, *p, kernel);
    kernel.is_listed = kernels.size() <= kListed;
  }
  return kernels;
}

}  // namespace plait::cuda
