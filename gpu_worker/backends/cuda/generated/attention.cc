#include <algorithm>

#include "gpu_worker/backends/cuda/generated/attention_text.h"
#include "gpu_worker/backends/cuda/generated/attention_tf32.h"

// softmax(q k^T) v of a head in one kernel, the scores of which are never in memory: BERT's 12
// heads of 128 queries, 128 keys and 64 dims with tiles of 32 queries and 32 keys, by 4 warps. A
// head is 4 blocks, each of which has 32 queries in shared memory, 8 of each warp, and goes over 4
// tiles of keys and values:
//   1. lane l multiplies the warp's 8 queries by key l: 8 scores in registers;
//   2. the lanes of the warp exchange the largest score of each query. Where that has grown, what
//      was summed so far shrinks by the factor that it would have had (online softmax);
//   3. the weights exp(score - largest) go through shared memory, and lane l multiplies them by the
//      values of the dims l and l + 32: 8 x 2 sums in registers.
// In the end each sum is divided by that of its weights. The template is AutoGTCO's (ICCAD 2021) of
// two products with what is between them: which sizes of tiles, how many warps and whether the next
// tile is loaded while one is computed is enumerated, and ranked by what the device is
// expected to do.

namespace plait::cuda {
namespace {

constexpr AttentionTile kTiles[] = {{16, 32, 4, 1}, {16, 32, 4, 2}, {32, 32, 4, 1}, {32, 32, 4, 2},
                                    {32, 64, 4, 1}, {64, 32, 8, 1}, {64, 32, 8, 2}, {64, 64, 8, 1}};

int64_t RoundUp(int64_t size, int64_t to) { return CeilDivide(size, to) * to; }

AttentionCost CostOf(const AttentionProblem& p, const AttentionTile& tile) {
  const int64_t depth = RoundUp(p.dim, 4);
  const int64_t rows = tile.queries / tile.warps;
  const int64_t columns = CeilDivide(p.dim, 32), lane_keys = tile.keys / 32;
  AttentionCost cost;
  cost.shared_bytes = 4 * (tile.queries * depth + tile.keys * (depth + 4) +
                           tile.keys * columns * 32 + int64_t{tile.queries} * tile.keys);
  cost.registers = 40 + rows * (columns + lane_keys + 2);
  // Multiply-adds, of which four warps begin one in a cycle, or reads of shared memory, of which
  // one does; where each lane reads 16 bytes of its own that takes four cycles.
  const int64_t scores = depth / 4 * std::max(rows * lane_keys, rows + 4 * lane_keys);
  const int64_t values = tile.keys / 4 * std::max(rows * columns, rows + 4 * columns);
  cost.warp_cycles = static_cast<double>(scores + values + rows * lane_keys * 12 + rows * 8);
  return cost;
}

constexpr const char* kAttentionSource = R"(
constexpr int kRows = kTileQueries / kWarps, kLaneKeys = kTileKeys / 32;
constexpr int kDepth = (kDim + 3) / 4 * 4, kColumns = (kDim + 31) / 32, kKeyFloats = kDepth + 4;
$ROWS$PLAIT_KERNEL __launch_bounds__(kThreads) plait_kernel($PARAMETERS$) {
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
$HEADS$  for (int i = threadIdx.x; i < kTileQueries * kDepth; i += kThreads) {
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
$BEGIN_TILE$    StoreRows<kKeyWidth>(next_keys, kKeyFloats, keys);
    StoreRows<kValueWidth>(next_values, kColumns * 32, values);
    __syncthreads();
$LOAD_NEXT_TILE$    float score[kRows][kLaneKeys];
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
        if (kMask && !is_hidden && row < kQueries) score[r][c] += $MASK$;
        if (is_hidden) score[r][c] = NegativeInfinity();
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

std::vector<GeneratedKernel> GenerateAttention(const Problem& problem, const KernelForm& form) {
  if (form.precision == Precision::kTf32) return AttentionTf32Kernels(problem, form);
  return AttentionKernels(problem, form, kTiles, CostOf, kAttentionSource);
}

}  // namespace

extern const GeneratedFamily kGeneratedAttention;
const GeneratedFamily kGeneratedAttention = {
    .name = "attention", .list = GenerateAttention, .rounds_to_tf32 = true};

}  // namespace plait::cuda
