#include <algorithm>
#include <cstdio>

#include "gpu_worker/backends/cuda/generated/kernel.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"

// softmax(q k^T) v of a head in one kernel, the scores of which are never in memory: BERT's 12
// heads of 128 queries, 128 keys and 64 dims with tiles of 32 queries and 32 keys, by 4 warps. A
// head is 4 blocks, each of which has 32 queries in shared memory, 8 of each warp, and goes over 4
// tiles of keys and values:
//   1. lane l multiplies the warp's 8 queries by key l: 8 scores in registers;
//   2. the lanes of the warp exchange the largest score of each query. Where that has grown, what
//      was summed so far shrinks by the factor that it would have had (online softmax);
//   3. the weights exp(score - largest) go through shared memory, and lane l multiplies them by the
//      values of the dims l and l + 32: 8 x 2 sums in registers.
// In the end each sum is divided by that of its weights. The template is AutoGTCO's of two products
// with what is between them (algorithms.md, section 8): which sizes of tiles, how many warps and
// whether the next tile is loaded while one is computed is enumerated, and ranked by what a
// described device would do.

namespace plait::cuda {
namespace {

using Kind = KernelArgument::Kind;

constexpr int kLanes = 32;
// Without asking for more.
constexpr int64_t kSharedBytesMax = 48 << 10;
// A query's sums are in the registers of a warp, four for each lane.
constexpr int64_t kDimMax = 128;
// So many of the enumerated ones are worth compiling and timing.
constexpr size_t kListed = 4;

// One choice of the template.
struct Tile {
  int queries = 32;
  int keys = 32;
  int warps = 4;
  int stages = 1;  // 2: the next tile is on its way to registers while one is computed
};

constexpr Tile kTiles[] = {{16, 32, 4, 1}, {16, 32, 4, 2}, {32, 32, 4, 1}, {32, 32, 4, 2},
                           {32, 64, 4, 1}, {64, 32, 8, 1}, {64, 32, 8, 2}, {64, 64, 8, 1}};

int64_t RoundUp(int64_t size, int64_t to) { return CeilDivide(size, to) * to; }

int64_t SharedBytes(const AttentionProblem& p, const Tile& tile) {
  const int64_t depth = RoundUp(p.dim, 4);
  const int64_t floats = tile.queries * depth + tile.keys * (depth + 4) +
                         tile.keys * RoundUp(p.dim, kLanes) + int64_t{tile.queries} * tile.keys;
  return 4 * floats;
}

// What a described device (an H200 as `model:h200` is) would take, in cycles: for ranking alone.
double ExpectedCycles(const AttentionProblem& p, const Tile& tile) {
  constexpr int64_t kMultiprocessors = 132;
  constexpr int64_t kSharedBytesOfMultiprocessor = 227 << 10;
  constexpr int64_t kRegisters = 65536;
  // So many warps hide what an instruction waits for.
  constexpr double kWarpsToFill = 12;
  const int64_t rows = tile.queries / tile.warps;
  const int64_t columns = RoundUp(p.dim, kLanes) / kLanes, lane_keys = tile.keys / kLanes;
  const int64_t threads = int64_t{tile.warps} * kLanes;
  const int64_t staged = tile.stages == 1 ? 0 : 2 * tile.keys * p.dim / threads;
  const int64_t registers = 40 + rows * (columns + lane_keys + 2) + staged;
  const int64_t resident =
      std::max<int64_t>(1, std::min({kSharedBytesOfMultiprocessor / (SharedBytes(p, tile) + 1024),
                                     kRegisters / (registers * threads), int64_t{2048} / threads}));
  const int64_t blocks = p.batch * p.heads * CeilDivide(p.query, tile.queries);
  const int64_t waves = CeilDivide(blocks, kMultiprocessors * resident);
  const int64_t side_by_side = std::min(resident, CeilDivide(blocks, kMultiprocessors));
  // Of a warp and a tile: multiply-adds, of which four warps begin one in a cycle, and reads of
  // shared memory, of which one does; a read of 16 bytes by each lane takes four.
  const double steps = static_cast<double>(RoundUp(p.dim, 4)) / 4;
  const double scores =
      steps * static_cast<double>(std::max(rows * lane_keys, rows + 4 * lane_keys));
  const double values = static_cast<double>(tile.keys) / 4 *
                        static_cast<double>(std::max(rows * columns, rows + 4 * columns));
  const double softmax = static_cast<double>(rows * lane_keys) * 12 + static_cast<double>(rows) * 8;
  const double tiles = static_cast<double>(CeilDivide(p.keys, tile.keys));
  const double wait = tile.stages == 1 ? 600 : 200;  // for each tile, where nothing else runs
  const double filled =
      std::min(1.0, static_cast<double>(side_by_side * tile.warps) / kWarpsToFill);
  const double block = tiles * (tile.warps * (scores + values + softmax) / filled);
  return static_cast<double>(waves) * (static_cast<double>(side_by_side) * block + tiles * wait);
}

constexpr const char* kAttentionSource = R"(
struct alignas(16) Quad { float v[4]; };
constexpr int kThreads = kWarps * 32, kRows = kTileQueries / kWarps, kLaneKeys = kTileKeys / 32;
constexpr int kDepth = (kDim + 3) / 4 * 4, kColumns = (kDim + 31) / 32, kKeyFloats = kDepth + 4;
constexpr int kKeyRow = kDim / kKeyWidth, kValueRow = kDim / kValueWidth;
constexpr int kKeyLoads = (kTileKeys * kKeyRow + kThreads - 1) / kThreads;
constexpr int kValueLoads = (kTileKeys * kValueRow + kThreads - 1) / kThreads;
// Numbers of kTileKeys rows from `first` on, on their way to shared memory; 0 behind the last key.
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
PLAIT_KERNEL __launch_bounds__(kThreads) plait_kernel($PARAMETERS$) {
  AwaitEarlierKernels();
  __shared__ Quad shared_queries[kTileQueries * kDepth / 4];
  __shared__ Quad shared_keys[kTileKeys * kKeyFloats / 4];
  __shared__ Quad shared_values[kTileKeys * kColumns * 8];
  __shared__ Quad shared_weights[kTileQueries * kTileKeys / 4];
  float* const queries = reinterpret_cast<float*>(shared_queries);
  float* const keys = reinterpret_cast<float*>(shared_keys);
  float* const values = reinterpret_cast<float*>(shared_values);
  float* const weights = reinterpret_cast<float*>(shared_weights);
  const int lane = threadIdx.x % 32, own = threadIdx.x / 32 * kRows;
  const int first_query = blockIdx.x % kQueryTiles * kTileQueries;
  const int head = blockIdx.x / kQueryTiles % kHeads, batch = blockIdx.x / kQueryTiles / kHeads;
  const T* const q = x0 + batch * kQueryBatch + head * kQueryHead;
  const T* const k = x1 + batch * kKeyBatch + head * kKeyHead;
  const T* const v = x2 + batch * kValueBatch + head * kValueHead;
  for (int i = threadIdx.x; i < kTileQueries * kDepth; i += kThreads) {
    const int row = first_query + i / kDepth, d = i % kDepth;
    const bool is_there = row < kQueries && d < kDim;
    queries[i] = is_there ? ToFloat(q[row * kQueryStep + d * kQueryStride]) * $SCALE$ : 0.0f;
  }
  // What no row reaches, once for all tiles.
  if (kDepth > kDim) {
    for (int i = threadIdx.x; i < kTileKeys * kKeyFloats; i += kThreads) {
      if (i % kKeyFloats >= kDim) keys[i] = 0.0f;
    }
  }
  if (kColumns * 32 > kDim) {
    for (int i = threadIdx.x; i < kTileKeys * kColumns * 32; i += kThreads) {
      if (i % (kColumns * 32) >= kDim) values[i] = 0.0f;
    }
  }
  float largest[kRows], total[kRows], sum[kRows][kColumns];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    largest[r] = NegativeInfinity();
    total[r] = 0.0f;
#pragma unroll
    for (int c = 0; c < kColumns; ++c) sum[r][c] = 0.0f;
  }
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
    StoreRows<kKeyWidth>(next_keys, kKeyFloats, keys);
    StoreRows<kValueWidth>(next_values, kColumns * 32, values);
    __syncthreads();
    if (kStages == 2 && first + kTileKeys < end) {
      LoadRows<kKeyWidth>(k, kKeyStep, kKeyStride, first + kTileKeys, next_keys);
      LoadRows<kValueWidth>(v, kValueStep, kValueStride, first + kTileKeys, next_values);
    }
    float score[kRows][kLaneKeys];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
#pragma unroll
      for (int c = 0; c < kLaneKeys; ++c) score[r][c] = 0.0f;
    }
#pragma unroll 4
    for (int d = 0; d < kDepth; d += 4) {
      Quad key[kLaneKeys];
#pragma unroll
      for (int c = 0; c < kLaneKeys; ++c) {
        key[c] = *reinterpret_cast<const Quad*>(keys + (c * 32 + lane) * kKeyFloats + d);
      }
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const Quad query = *reinterpret_cast<const Quad*>(queries + (own + r) * kDepth + d);
#pragma unroll
        for (int c = 0; c < kLaneKeys; ++c) {
#pragma unroll
          for (int i = 0; i < 4; ++i) score[r][c] += query.v[i] * key[c].v[i];
        }
      }
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const int row = first_query + own + r;
      float top = largest[r];
#pragma unroll
      for (int c = 0; c < kLaneKeys; ++c) {
        const int column = first + c * 32 + lane;
        const bool is_hidden = column >= kKeys || (kCausal && column > row);
$MASK$        if (is_hidden) score[r][c] = NegativeInfinity();
        top = Maximum(top, score[r][c]);
      }
      top = WarpMax(top);
      // Of rows that have seen no key so far, from which minus infinity cannot be subtracted.
      const float base = top == NegativeInfinity() ? 0.0f : top;
      const float shrink = expf(largest[r] - base);
      largest[r] = top;
      total[r] *= shrink;
#pragma unroll
      for (int c = 0; c < kColumns; ++c) sum[r][c] *= shrink;
#pragma unroll
      for (int c = 0; c < kLaneKeys; ++c) {
        const float weight = expf(score[r][c] - base);
        total[r] += weight;
        weights[(own + r) * kTileKeys + c * 32 + lane] = weight;
      }
    }
    __syncwarp();
#pragma unroll 2
    for (int key = 0; key < kTileKeys; key += 4) {
      float value[4][kColumns];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int c = 0; c < kColumns; ++c) {
          value[i][c] = values[(key + i) * kColumns * 32 + c * 32 + lane];
        }
      }
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const Quad weight = *reinterpret_cast<const Quad*>(weights + (own + r) * kTileKeys + key);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
#pragma unroll
          for (int c = 0; c < kColumns; ++c) sum[r][c] += weight.v[i] * value[i][c];
        }
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const int row = first_query + own + r;
    const float whole = WarpSum(total[r]);
    if (row >= kQueries) continue;
    T* const y = y0 + batch * kResultBatch + head * kResultHead + row * kResultStep;
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      const int d = c * 32 + lane;
      if (d < kDim) y[d * kResultStride] = FromFloat(sum[r][c] / whole);
    }
  }
}
)";

constexpr const char* kAddMask = R"(        if (!is_hidden && row < kQueries) {
          score[r][c] += ToFloat(
              x3[batch * kMaskBatch + head * kMaskHead + row * kMaskStep + column]);
        }
)";

// Of rows whose numbers lie one behind the other.
int RowWidth(const AttentionProblem& p, const AttentionProblem::Strides& strides,
             const KernelForm& form) {
  if (strides[3] != 1) return 1;
  return std::min(4, VectorWidth(form, {p.dim, strides[0], strides[1], strides[2]}));
}

// By the size of the axis: of one element any stride is right, and none matters.
std::string StrideConstants(const std::string& name, const AttentionProblem::Strides& strides) {
  return Constants({{("k" + name + "Batch").c_str(), strides[0]},
                    {("k" + name + "Head").c_str(), strides[1]},
                    {("k" + name + "Step").c_str(), strides[2]},
                    {("k" + name + "Stride").c_str(), strides[3]}});
}

GeneratedKernel AttentionKernel(const AttentionProblem& p, const Tile& tile,
                                const KernelForm& form) {
  const auto key_strides = HeadStrides(p, p.key_strides, p.keys);
  const auto value_strides = HeadStrides(p, p.value_strides, p.keys);
  GeneratedKernel kernel;
  kernel.arguments = {{Kind::kInput, 0}, {Kind::kInput, 1}, {Kind::kInput, 2}};
  if (p.mask) kernel.arguments.push_back({Kind::kInput, 3});
  kernel.arguments.push_back({Kind::kOutput, 0});
  kernel.variant = "q" + std::to_string(tile.queries) + "/k" + std::to_string(tile.keys) + "/w" +
                   std::to_string(tile.warps) + "/s" + std::to_string(tile.stages);
  const int64_t query_tiles = CeilDivide(p.query, tile.queries);
  kernel.block = {static_cast<unsigned>(tile.warps * kLanes), 1, 1};
  kernel.grid = {static_cast<unsigned>(p.batch * p.heads * query_tiles), 1, 1};
  kernel.source = Constants({{"kWarps", tile.warps},
                             {"kTileQueries", tile.queries},
                             {"kTileKeys", tile.keys},
                             {"kStages", tile.stages},
                             {"kQueryTiles", query_tiles},
                             {"kHeads", p.heads},
                             {"kQueries", p.query},
                             {"kKeys", p.keys},
                             {"kDim", p.dim},
                             {"kCausal", p.causal ? 1 : 0},
                             {"kKeyWidth", RowWidth(p, key_strides, form)},
                             {"kValueWidth", RowWidth(p, value_strides, form)}});
  kernel.source += StrideConstants("Query", HeadStrides(p, p.query_strides, p.query));
  kernel.source += StrideConstants("Key", key_strides);
  kernel.source += StrideConstants("Value", value_strides);
  kernel.source += StrideConstants("Result", HeadStrides(p, p.result_strides, p.query));
  if (p.mask) {
    const int64_t of_head = p.keys * (p.mask_query ? p.query : 1);
    const int64_t of_batch = of_head * (p.mask_heads ? p.heads : 1);
    kernel.source += Constants({{"kMaskBatch", p.mask_batch ? of_batch : 0},
                                {"kMaskHead", p.mask_heads ? of_head : 0},
                                {"kMaskStep", p.mask_query ? p.keys : 0}});
  }
  char scale[32];
  std::snprintf(scale, sizeof(scale), "%.9ef", static_cast<double>(p.factor()));
  kernel.source += Replace(kAttentionSource, {{"PARAMETERS", Parameters(kernel.arguments)},
                                              {"SCALE", scale},
                                              {"MASK", p.mask ? kAddMask : ""}});
  return kernel;
}

std::vector<GeneratedKernel> GenerateAttention(const Problem& problem, const KernelForm& form) {
  const auto* p = std::get_if<AttentionProblem>(&problem);
  if (p == nullptr || p->dim > kDimMax || form.layout != MemoryLayout::kNchw) return {};
  std::vector<Tile> tiles;
  for (const Tile& tile : kTiles) {
    if (SharedBytes(*p, tile) <= kSharedBytesMax) tiles.push_back(tile);
  }
  std::stable_sort(tiles.begin(), tiles.end(), [&](const Tile& a, const Tile& b) {
    return ExpectedCycles(*p, a) < ExpectedCycles(*p, b);
  });
  std::vector<GeneratedKernel> kernels;
  for (const Tile& tile : tiles) {
    kernels.push_back(AttentionKernel(*p, tile, form));
    kernels.back().is_listed = kernels.size() <= kListed;
  }
  return kernels;
}

}  // namespace

extern const GeneratedFamily kGeneratedAttention;
const GeneratedFamily kGeneratedAttention = {"attention", GenerateAttention};

}  // namespace plait::cuda
