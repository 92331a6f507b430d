#include <algorithm>
#include <limits>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/kernels/chunk_runner.h"
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

// Where the matrices of every head lie. Distances in elements.
struct HeadMatrices {
  float* data = nullptr;
  std::vector<int64_t> offsets;  // by head
  int64_t row_stride = 0;
  int64_t column_stride = 0;

  float* At(int64_t head) const { return data + offsets[head]; }
};

HeadMatrices MatricesOf(const Operand& operand, const StridedView& view) {
  const size_t axes = view.shape.size();
  HeadMatrices matrices{
      operand.floats(), {view.offset}, view.strides[axes - 2], view.strides[axes - 1]};
  for (size_t axis = 0; axis + 2 < axes; ++axis) {
    std::vector<int64_t> offsets;
    for (const int64_t before : matrices.offsets) {
      for (int64_t i = 0; i < view.shape[axis]; ++i) {
        offsets.push_back(before + i * view.strides[axis]);
      }
    }
    matrices.offsets = std::move(offsets);
  }
  return matrices;
}

struct Extents {
  int64_t heads = 0;
  int64_t queries = 0;
  int64_t keys = 0;
  int64_t size = 0;        // of a query's and a key's row
  int64_t value_size = 0;  // of a value's row
};

class AttentionKernel : public CpuKernel {
 public:
  explicit AttentionKernel(LoadContext* context)
      : width_(context->width()), runner_(context->width()) {}

  absl::Status Prepare(LoadContext* context, const AttentionPattern& pattern);

  absl::Status Run() override {
    for (Lane& lane : lanes_) lane.head = -1;
    return runner_.Run(extents_.heads * chunks_, [this](int64_t begin, int64_t end, int thread) {
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

  absl::Status FindMatrices(LoadContext* context, const AttentionPattern& pattern);
  absl::Status MakeProducts();
  void PackKeys(const float* keys, float* packed) const;
  void PackValues(const float* values, float* packed) const;
  absl::Status RunChunk(int64_t head, int64_t chunk, Lane* lane) const;
  const float* MaskOf(int64_t head, int64_t query, const Lane& lane) const;
  void NormalizeRow(int64_t head, int64_t query, float* row, const Lane& lane) const;
  int64_t FirstQueryOf(int64_t chunk) const { return chunk * extents_.queries / chunks_; }

  const int width_;
  ChunkRunner runner_;
  Extents extents_;
  float scale_ = 1;
  bool hides_masked_rows_ = false;
  HeadMatrices query_;
  HeadMatrices key_;
  HeadMatrices value_;
  HeadMatrices result_;
  std::vector<HeadMatrices> masks_;
  int64_t chunks_ = 1;  // of the queries of a head
  int64_t score_row_floats_ = 0;
  FmaProduct scores_product_;
  FmaProduct result_product_;
  std::vector<Lane> lanes_;
};

absl::Status AttentionKernel::FindMatrices(LoadContext* context, const AttentionPattern& pattern) {
  masks_.resize(pattern.masks.size());
  std::vector<std::pair<const AttentionPattern::Matrices*, HeadMatrices*>> all = {
      {&pattern.query, &query_},
      {&pattern.key, &key_},
      {&pattern.value, &value_},
      {&pattern.result, &result_}};
  for (size_t i = 0; i < masks_.size(); ++i) all.emplace_back(&pattern.masks[i], &masks_[i]);
  for (const auto& [matrices, found] : all) {
    PLAIT_ASSIGN_OR_RETURN(const Operand operand,
                           FindIn(context, matrices->tensor, Format::kPlain));
    *found = MatricesOf(operand, matrices->view);
  }
  return absl::OkStatus();
}

// Rows of scores begin on vectors, and are what the second product multiplies.
absl::Status AttentionKernel::MakeProducts() {
  constexpr int64_t kVector = 16;
  constexpr int64_t kTilesTogether = 2;
  score_row_floats_ = CeilDiv(extents_.keys, kVector) * kVector;
  scores_product_ = FmaProduct::OfPacked({.depth = extents_.size, .columns = extents_.keys});
  scores_product_.set_left_row_floats(query_.row_stride);
  scores_product_.set_result_row_floats(score_row_floats_);
  result_product_ = FmaProduct::OfPacked({.depth = extents_.keys, .columns = extents_.value_size});
  result_product_.set_left_row_floats(score_row_floats_);
  result_product_.set_result_row_floats(result_.row_stride);
  chunks_ = CeilDiv(extents_.queries, kTilesTogether * scores_product_.tile_rows());
  // Chunks have one of two numbers of rows.
  for (const int64_t rows : {extents_.queries / chunks_, CeilDiv(extents_.queries, chunks_)}) {
    PLAIT_RETURN_IF_ERROR(scores_product_.AddRows(rows));
    PLAIT_RETURN_IF_ERROR(result_product_.AddRows(rows));
  }
  return absl::OkStatus();
}

absl::Status AttentionKernel::Prepare(LoadContext* context, const AttentionPattern& pattern) {
  const Shape& query = pattern.query.view.shape;
  const Shape& value = pattern.value.view.shape;
  scale_ = pattern.scale;
  hides_masked_rows_ = pattern.hides_masked_rows;
  PLAIT_RETURN_IF_ERROR(FindMatrices(context, pattern));
  extents_ = {static_cast<int64_t>(query_.offsets.size()), query[query.size() - 2],
              value[value.size() - 2], query.back(), value.back()};
  PLAIT_RETURN_IF_ERROR(MakeProducts());
  const int64_t rows = CeilDiv(extents_.queries, chunks_);
  for (int i = 0; i < width_; ++i) {
    Lane& lane = lanes_.emplace_back();
    PLAIT_ASSIGN_OR_RETURN(lane.key, ScratchOf<float>(context, scores_product_.packed_floats()));
    PLAIT_ASSIGN_OR_RETURN(lane.value, ScratchOf<float>(context, result_product_.packed_floats()));
    PLAIT_ASSIGN_OR_RETURN(lane.scores, ScratchOf<float>(context, rows * score_row_floats_));
    PLAIT_ASSIGN_OR_RETURN(lane.mask, ScratchOf<float>(context, extents_.keys));
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
  ClearBehind(scores_product_, extents_.size, extents_.keys, packed);
  for (int64_t key = 0; key < extents_.keys; ++key) {
    const float* const from = keys + key * key_.row_stride;
    float* const to = packed + key / width * extents_.size * width + key % width;
    for (int64_t k = 0; k < extents_.size; ++k) to[k * width] = from[k * key_.column_stride];
  }
}

void AttentionKernel::PackValues(const float* values, float* packed) const {
  const int64_t width = result_product_.block_columns();
  ClearBehind(result_product_, extents_.keys, extents_.value_size, packed);
  for (int64_t first = 0; first < extents_.value_size; first += width) {
    const int64_t count = std::min(width, extents_.value_size - first);
    float* to = packed + first * extents_.keys;
    for (int64_t key = 0; key < extents_.keys; ++key, to += width) {
      const float* const from = values + key * value_.row_stride + first * value_.column_stride;
      if (value_.column_stride == 1) {
        std::copy_n(from, count, to);
        continue;
      }
      for (int64_t column = 0; column < count; ++column) {
        to[column] = from[column * value_.column_stride];
      }
    }
  }
}

absl::Status AttentionKernel::RunChunk(int64_t head, int64_t chunk, Lane* lane) const {
  if (lane->head != head) {
    PackKeys(key_.At(head), lane->key);
    PackValues(value_.At(head), lane->value);
    lane->head = head;
  }
  const int64_t first = FirstQueryOf(chunk);
  const int64_t rows = FirstQueryOf(chunk + 1) - first;
  PLAIT_RETURN_IF_ERROR(scores_product_.Run({.left = query_.At(head) + first * query_.row_stride,
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
                              .result = result_.At(head) + first * result_.row_stride,
                              .right = lane->value});
}

// What is added to a row of scores; nullptr: nothing.
const float* AttentionKernel::MaskOf(int64_t head, int64_t query, const Lane& lane) const {
  const float* sum = nullptr;
  for (const HeadMatrices& mask : masks_) {
    const float* const row = mask.At(head) + query * mask.row_stride;
    if (sum == nullptr) {
      sum = row;
      continue;
    }
    for (int64_t key = 0; key < extents_.keys; ++key) lane.mask[key] = sum[key] + row[key];
    sum = lane.mask;
  }
  return sum;
}

// `row` becomes softmax(row * scale + mask), in place.
void AttentionKernel::NormalizeRow(int64_t head, int64_t query, float* row,
                                   const Lane& lane) const {
  const float* const mask = MaskOf(head, query, lane);
  const bool hides =
      mask != nullptr && hides_masked_rows_ &&
      Loops().maximum(mask, extents_.keys) == -std::numeric_limits<float>::infinity();
  if (hides) {
    std::fill(row, row + extents_.keys, 0.0f);
  } else {
    Loops().softmax_row({row, mask, row, extents_.keys, scale_, false});
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
  if (!pattern.has_value() || !FitsTiles(*pattern)) return context->Refuse();
  auto kernel = std::make_unique<AttentionKernel>(context);
  PLAIT_RETURN_IF_ERROR(kernel->Prepare(context, *pattern));
  return kernel;
}

}  // namespace plait
