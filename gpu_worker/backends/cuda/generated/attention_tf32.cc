#include "gpu_worker/backends/cuda/generated/attention_tf32.h"

#include "gpu_worker/backends/cuda/generated/attention_text.h"

// attention.cc on tensor cores, which multiply numbers of TF32 and add them up in fp32. A warp has
// 16 queries: with 4 warps BERT's head of 128 queries is 2 blocks. A tensor core multiplies 16 rows
// by 8 columns, 8 deep; with g = lane / 4 and t = lane % 4 a lane holds
//   of the left side   [g, t], [g + 8, t], [g, t + 4], [g + 8, t + 4]
//   of the right side  [t, g], [t + 4, g]
//   of the sums        [g, 2t], [g, 2t + 1], [g + 8, 2t], [g + 8, 2t + 1].
// So what a lane has of the weights of 8 keys are the keys 2t and 2t + 1, where as a left side it
// should have t and t + 4. Any order of the keys gives the same sum: the values of keys 2t and
// 2t + 1 are read as if they were those, and the weights stay in their registers.
// Rows of keys and of values lie 4 floats further apart than they are long, which puts what the
// lanes of a warp read at a time into 32 banks, of either.

namespace plait::cuda {
namespace {

constexpr AttentionTile kTf32Tiles[] = {{32, 32, 2, 2}, {64, 32, 4, 1},  {64, 32, 4, 2},
                                        {64, 64, 4, 1}, {128, 32, 8, 1}, {128, 64, 8, 1}};

AttentionCost CostOfTf32(const AttentionProblem& p, const AttentionTile& tile) {
  const int64_t depth = CeilDivide(p.dim, 8) * 8;
  AttentionCost cost;
  cost.shared_bytes = 4 * 2 * tile.keys * (depth + 4);
  cost.registers = 40 + depth + tile.keys / 2;
  // For each product of 16x8x8, of which a multiprocessor makes one in two cycles, two reads of
  // shared memory; and what 16 scores in each lane take until they are weights.
  const double products = static_cast<double>(2 * (depth / 8) * (tile.keys / 8));
  cost.warp_cycles = 2 * products + static_cast<double>(tile.keys / 2 * 10 + 40);
  return cost;
}

constexpr const char* kAttentionTf32Source = R"(
constexpr int kSteps = (kDim + 7) / 8, kDepth = kSteps * 8, kRowFloats = kDepth + 4;
constexpr int kKeySteps = kTileKeys / 8;
$ROWS$// As fp32 of which the last 13 bits are zeros.
template <int kWidth, int kLoads>
__device__ inline void RoundRows(float (&loaded)[kLoads][kWidth]) {
#pragma unroll
  for (int i = 0; i < kLoads; ++i) {
#pragma unroll
    for (int j = 0; j < kWidth; ++j) loaded[i][j] = ToTf32(loaded[i][j]);
  }
}
// Of the four lanes that have a row between them.
__device__ inline float RowMax(float x) {
  x = Maximum(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return Maximum(x, __shfl_xor_sync(0xffffffffu, x, 2));
}
__device__ inline float RowSum(float x) {
  x += __shfl_xor_sync(0xffffffffu, x, 1);
  return x + __shfl_xor_sync(0xffffffffu, x, 2);
}
PLAIT_KERNEL __launch_bounds__(kThreads) plait_kernel($PARAMETERS$) {
  AwaitEarlierKernels();
  __shared__ Quad shared_keys[kTileKeys * kRowFloats / 4];
  __shared__ Quad shared_values[kTileKeys * kRowFloats / 4];
  float* const keys = reinterpret_cast<float*>(shared_keys);
  float* const values = reinterpret_cast<float*>(shared_values);
  const int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  const int first_query = blockIdx.x % kQueryTiles * kTileQueries;
  const int own = first_query + threadIdx.x / 32 * 16 + g;
$HEADS$  float query[kSteps][4];
#pragma unroll
  for (int s = 0; s < kSteps; ++s) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = own + i % 2 * 8, d = s * 8 + i / 2 * 4 + t;
      const bool is_there = row < kQueries && d < kDim;
      query[s][i] =
          is_there ? ToTf32(ToFloat(q[row * kQueryStep + d * kQueryStride]) * $SCALE$) : 0.0f;
    }
  }
  // What no row reaches, once for all tiles.
  if (kDepth > kDim) {
    for (int i = threadIdx.x; i < kTileKeys * kRowFloats; i += kThreads) {
      if (i % kRowFloats >= kDim) keys[i] = values[i] = 0.0f;
    }
  }
  float largest[2] = {NegativeInfinity(), NegativeInfinity()}, total[2] = {0.0f, 0.0f};
  float sum[kSteps][4];
#pragma unroll
  for (int s = 0; s < kSteps; ++s) {
#pragma unroll
    for (int i = 0; i < 4; ++i) sum[s][i] = 0.0f;
  }
$BEGIN_TILE$    RoundRows(next_keys);
    RoundRows(next_values);
    StoreRows<kKeyWidth>(next_keys, kRowFloats, keys);
    StoreRows<kValueWidth>(next_values, kRowFloats, values);
    __syncthreads();
$LOAD_NEXT_TILE$    float score[kKeySteps][4];
#pragma unroll
    for (int n = 0; n < kKeySteps; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) score[n][i] = 0.0f;
#pragma unroll
      for (int s = 0; s < kSteps; ++s) {
        const float* const key = keys + (n * 8 + g) * kRowFloats + s * 8 + t;
        const float right[2] = {key[0], key[4]};
        MultiplyTf32(score[n], query[s], right);
      }
    }
    float top[2] = {largest[0], largest[1]};
#pragma unroll
    for (int n = 0; n < kKeySteps; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = own + i / 2 * 8, column = first + n * 8 + t * 2 + i % 2;
        const bool is_hidden = column >= kKeys || (kCausal && column > row);
        if (kMask && !is_hidden && row < kQueries) score[n][i] += $MASK$;
        if (is_hidden) score[n][i] = NegativeInfinity();
        top[i / 2] = Maximum(top[i / 2], score[n][i]);
      }
    }
    float base[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      top[r] = RowMax(top[r]);
      // Of rows that have seen no key so far, from which minus infinity cannot be subtracted.
      base[r] = top[r] == NegativeInfinity() ? 0.0f : top[r];
      const float shrink = expf(largest[r] - base[r]);
      largest[r] = top[r];
      total[r] *= shrink;
#pragma unroll
      for (int s = 0; s < kSteps; ++s) {
        sum[s][r * 2] *= shrink;
        sum[s][r * 2 + 1] *= shrink;
      }
    }
#pragma unroll
    for (int n = 0; n < kKeySteps; ++n) {
      // What is divided by in the end is the sum of the rounded ones.
      float weight[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int r = i % 2;
        weight[i] = ToTf32(expf(score[n][r * 2 + i / 2] - base[r]));
        total[r] += weight[i];
      }
#pragma unroll
      for (int s = 0; s < kSteps; ++s) {
        const float* const value = values + (n * 8 + t * 2) * kRowFloats + s * 8 + g;
        const float right[2] = {value[0], value[kRowFloats]};
        MultiplyTf32(sum[s], weight, right);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = own + r * 8;
    const float whole = RowSum(total[r]);
    if (row >= kQueries) continue;
    T* const y = y0 + batch * kResultBatch + head * kResultHead + row * kResultStep;
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
      const int d = s * 8 + t * 2;
      const float pair[2] = {sum[s][r * 2] / whole, sum[s][r * 2 + 1] / whole};
      if (kResultWidth >= 2) {
        if (d < kDim) StoreVector<2>(y + d, pair);
      } else {
        if (d < kDim) y[d * kResultStride] = FromFloat(pair[0]);
        if (d + 1 < kDim) y[(d + 1) * kResultStride] = FromFloat(pair[1]);
      }
    }
  }
}
)";

}  // namespace

std::vector<GeneratedKernel> AttentionTf32Kernels(const Problem& problem, const KernelForm& form) {
  return AttentionKernels(problem, form, kTf32Tiles, CostOfTf32, kAttentionTf32Source);
}

}  // namespace plait::cuda
