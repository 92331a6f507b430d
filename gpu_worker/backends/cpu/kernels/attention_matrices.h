#pragma once

#include <vector>

#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/groups/attention_pattern.h"

namespace plait {

// Where the matrices of every head lie. Distances in elements.
struct HeadMatrices {
  float* data = nullptr;
  std::vector<int64_t> offsets;  // by head
  int64_t row_stride = 0;
  int64_t column_stride = 0;

  float* At(int64_t head) const { return data + offsets[head]; }
};

// All that an attention reads and writes, as addresses: they stay good for as long as the kernel.
struct AttentionMatrices {
  int64_t heads = 0;
  int64_t queries = 0;
  int64_t keys = 0;
  int64_t size = 0;        // of a query's and a key's row
  int64_t value_size = 0;  // of a value's row
  float scale = 1;
  bool hides_masked_rows = false;
  // Rows of a query and of a result have adjacent elements.
  HeadMatrices query;
  HeadMatrices key;
  HeadMatrices value;
  HeadMatrices result;
  std::vector<HeadMatrices> masks;

  // What is added to the scores of `count` keys of a query, from `first` on; nullptr: nothing.
  // Several masks are added up in `sum`, which has as many floats.
  const float* MaskOf(int64_t head, int64_t query, int64_t first, int64_t count, float* sum) const;
};

// Errors: those of FindIn.
absl::StatusOr<AttentionMatrices> FindAttentionMatrices(LoadContext* context,
                                                        const AttentionPattern& pattern);

}  // namespace plait
