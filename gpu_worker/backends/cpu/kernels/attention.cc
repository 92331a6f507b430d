#include <algorithm>
#include <limits>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/attention_matrices.h"
#include "gpu_worker/backends/cpu/kernels/chunk_runner.h"
#include "gpu_worker/backends/cpu/kernels/few_queries.h"
#include "gpu_worker/backends/cpu/kernels/fma_product.h"
#include "gpu_worker/backends/cpu/kernels/operands.h"
#include "gpu_worker/backends/cpu/loops/loops.h"
#include "gpu_worker/backends/groups/attention_pattern.h"

// BERT-base on 128 tokens: query, key and value are twelve heads of [128, 64], each 64 columns of
// the rows of a product. A thread takes a head, packs its key and its value as products want them,
// 32 KiB each, and then goes through the queries some rows at a time: of 26 rows the scores are 26
// x 128 floats, 13 KiB, which are written by the first product, normalized row by row and read by
// the second one while they lie in the first-level cache. All scores of all heads, which is what a
// node per operation makes, are 768 KiB that are written and read again as a whole. The scale is
// applied while a row is normalized, so that it costs no pass. (T. Dao et al., FlashAttention,
// 2022, keeps scores on the chip in the same way; there are few enough keys here to have whole
// rows.)

namespace plait {
namespace {

class AttentionKernel : public CpuKernel {
 public:
  AttentionKernel(int width, AttentionMatrices matrices)
      : width_(width), runner_(width), m_(std::move(matrices)) {}

  absl::Status Prepare(LoadContext* context);

  absl::Status Run() override {
    for (Lane& lane : lanes_) lane.head = -1;
    return runner_.Run(m_.heads * chunks_, [this](int64_t begin, int64_t end, int thread) {
      for (int64_t chunk = begin; chunk < end; ++chunk) {
        PLAIT_RETURN_IF_ERROR(RunChunk(chunk / chunks_, chunk % chunks_, &lanes_[thread]));
      }
      return absl::OkStatus();
    });
  }

 private:
  // What one thread works with.
  struct Lane {
    float* key = nullptr;    // of the head, packed
    float* value = nullptr;  // the same
    float* scores = nullptr;
    float* mask = nullptr;  // of a row, where there are several
    int64_t head = -1;      // whose key and value are there
  };

  absl::Status MakeProducts();
  void PackKeys(const float* keys, float* packed) const;
  void PackValues(const float* values, float* packed) const;
  absl::Status RunChunk(int64_t head, int64_t chunk, Lane* lane) const;
  void NormalizeRow(int64_t head, int64_t query, float* row, const Lane& lane) const;
  int64_t FirstQueryOf(int64_t chunk) const { return chunk * m_.queries / chunks_; }

  const int width_;
  ChunkRunner runner_;
  const AttentionMatrices m_;
  int64_t chunks_ = 1;  // of the queries of a head
  int64_t score_row_floats_ = 0;
  FmaProduct scores_product_;
  FmaProduct result_product_;
  std::vector<Lane> lanes_;
};

// Rows of scores begin on vectors, and are what the second product multiplies.
absl::Status AttentionKernel::MakeProducts() {
  constexpr int64_t kVector = 16;
  constexpr int64_t kTilesTogether = 2;
  score_row_floats_ = CeilDiv(m_.keys, kVector) * kVector;
  scores_product_ = FmaProduct::OfPacked({.depth = m_.size, .columns = m_.keys});
  scores_product_.set_left_row_floats(m_.query.row_stride);
  scores_product_.set_result_row_floats(score_row_floats_);
  result_product_ = FmaProduct::OfPacked({.depth = m_.keys, .columns = m_.value_size});
  result_product_.set_left_row_floats(score_row_floats_);
  result_product_.set_result_row_floats(m_.result.row_stride);
  chunks_ = CeilDiv(m_.queries, kTilesTogether * scores_product_.tile_rows());
  // Chunks have one of two numbers of rows.
  for (const int64_t rows : {m_.queries / chunks_, CeilDiv(m_.queries, chunks_)}) {
    PLAIT_RETURN_IF_ERROR(scores_product_.AddRows(rows));
    PLAIT_RETURN_IF_ERROR(result_product_.AddRows(rows));
  }
  return absl::OkStatus();
}

absl::Status AttentionKernel::Prepare(LoadContext* context) {
  PLAIT_RETURN_IF_ERROR(MakeProducts());
  const int64_t rows = CeilDiv(m_.queries, chunks_);
  for (int i = 0; i < width_; ++i) {
    Lane& lane = lanes_.emplace_back();
    PLAIT_ASSIGN_OR_RETURN(lane.key, ScratchOf<float>(context, scores_product_.packed_floats()));
    PLAIT_ASSIGN_OR_RETURN(lane.value, ScratchOf<float>(context, result_product_.packed_floats()));
    PLAIT_ASSIGN_OR_RETURN(lane.scores, ScratchOf<float>(context, rows * score_row_floats_));
    PLAIT_ASSIGN_OR_RETURN(lane.mask, ScratchOf<float>(context, m_.keys));
  }
  return absl::OkStatus();
}

// Zeros behind the last column of what is packed.
void ClearBehind(const FmaProduct& product, int64_t depth, int64_t columns, float* packed) {
  const int64_t width = product.block_columns();
  const int64_t count = columns - (product.blocks() - 1) * width;
  float* row = packed + (product.blocks() - 1) * depth * width;
  for (int64_t k = 0; k < depth; ++k, row += width) std::fill(row + count, row + width, 0.0f);
}

// A key is a column of what is packed: it is read as it lies, and written to places that stay in
// the first-level cache until the block is full. By rows of what is packed, keys that lie some
// kilobytes apart would push each other out of it.
void AttentionKernel::PackKeys(const float* keys, float* packed) const {
  const int64_t width = scores_product_.block_columns();
  ClearBehind(scores_product_, m_.size, m_.keys, packed);
  for (int64_t key = 0; key < m_.keys; ++key) {
    const float* const from = keys + key * m_.key.row_stride;
    float* const to = packed + key / width * m_.size * width + key % width;
    for (int64_t k = 0; k < m_.size; ++k) to[k * width] = from[k * m_.key.column_stride];
  }
}

void AttentionKernel::PackValues(const float* values, float* packed) const {
  const int64_t width = result_product_.block_columns();
  ClearBehind(result_product_, m_.keys, m_.value_size, packed);
  for (int64_t first = 0; first < m_.value_size; first += width) {
    const int64_t count = std::min(width, m_.value_size - first);
    float* to = packed + first * m_.keys;
    for (int64_t key = 0; key < m_.keys; ++key, to += width) {
      const float* const from = values + key * m_.value.row_stride + first * m_.value.column_stride;
      if (m_.value.column_stride == 1) {
        std::copy_n(from, count, to);
        continue;
      }
      for (int64_t column = 0; column < count; ++column) {
        to[column] = from[column * m_.value.column_stride];
      }
    }
  }
}

absl::Status AttentionKernel::RunChunk(int64_t head, int64_t chunk, Lane* lane) const {
  if (lane->head != head) {
    PackKeys(m_.key.At(head), lane->key);
    PackValues(m_.value.At(head), lane->value);
    lane->head = head;
  }
  const int64_t first = FirstQueryOf(chunk);
  const int64_t rows = FirstQueryOf(chunk + 1) - first;
  PLAIT_RETURN_IF_ERROR(
      scores_product_.Run({.left = m_.query.At(head) + first * m_.query.row_stride,
                           .rows = rows,
                           .last = scores_product_.blocks(),
                           .result = lane->scores,
                           .right = lane->key}));
  for (int64_t row = 0; row < rows; ++row) {
    NormalizeRow(head, first + row, lane->scores + row * score_row_floats_, *lane);
  }
  return result_product_.Run({.left = lane->scores,
                              .rows = rows,
                              .last = result_product_.blocks(),
                              .result = m_.result.At(head) + first * m_.result.row_stride,
                              .right = lane->value});
}

// `row` becomes softmax(row * scale + mask), in place.
void AttentionKernel::NormalizeRow(int64_t head, int64_t query, float* row,
                                   const Lane& lane) const {
  const float* const mask = m_.MaskOf(head, query, 0, m_.keys, lane.mask);
  const bool hides = mask != nullptr && m_.hides_masked_rows &&
                     Loops().maximum(mask, m_.keys) == -std::numeric_limits<float>::infinity();
  if (hides) {
    std::fill(row, row + m_.keys, 0.0f);
  } else {
    Loops().softmax_row({row, mask, row, m_.keys, m_.scale, false});
  }
}

// The code addresses the rows of a tile by distances of 32 bits.
bool FitsTiles(const AttentionPattern& pattern) {
  constexpr int64_t kRowFloatsMax = int64_t{1} << 24;
  const auto fits = [](const StridedView& view) {
    const size_t axes = view.strides.size();
    return view.strides[axes - 2] <= kRowFloatsMax && view.shape[axes - 1] <= kRowFloatsMax &&
           view.shape[axes - 2] <= kRowFloatsMax;
  };
  return fits(pattern.query.view) && fits(pattern.key.view) && fits(pattern.result.view);
}

}  // namespace

absl::StatusOr<std::unique_ptr<CpuKernel>> LoadAttention(LoadContext* context) {
  const std::optional<AttentionPattern> pattern =
      ParseAttention(context->graph(), context->kernel().nodes);
  if (!pattern.has_value()) return context->Refuse();
  PLAIT_ASSIGN_OR_RETURN(AttentionMatrices matrices, FindAttentionMatrices(context, *pattern));
  if (HasFewQueries(matrices)) return LoadFewQueries(context, std::move(matrices));
  if (!FitsTiles(*pattern)) return context->Refuse();
  auto kernel = std::make_unique<AttentionKernel>(context->width(), std::move(matrices));
  PLAIT_RETURN_IF_ERROR(kernel->Prepare(context));
  return kernel;
}

}  // namespace plait
