#include "gpu_worker/backends/cpu/kernels/few_queries.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/loops/loops.h"
#include "gpu_worker/backends/cpu/team/team.h"

// Llama with 32 heads of 64 and a cache of 1023: four heads each share a key and a value of [1024,
// 64], 256 KiB each, which are cut into four parts of 256 keys. Of a part the scores are four rows
// of 256 numbers: each becomes its softmax, as if there were no other part, and weighs the values.
// What that makes of the four parts, [4, 64] for each row, is added up in the end, each with the
// part's share of all exponentials. (M. Milakov and N. Gimelshein, Online normalizer calculation
// for softmax, 2018, and T. Dao et al., Flash-Decoding, 2023.) Parts are there for threads to
// share, but there are as many whatever the number of threads, and they are added in order: the
// result is the same.

namespace plait {
namespace {

// With some more, packing begins to pay.
constexpr int64_t kQueriesMax = 8;

// Of a part at most: with rows of 64, its keys and values are 128 KiB.
constexpr int64_t kPartKeysMax = 256;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class FewQueriesKernel : public CpuKernel {
 public:
  FewQueriesKernel(int width, AttentionMatrices matrices)
      : width_(width),
        m_(std::move(matrices)),
        parts_(CeilDiv(m_.keys, kPartKeysMax)),
        part_keys_max_(CeilDiv(m_.keys, parts_)) {}

  absl::Status Prepare(LoadContext* context);

  absl::Status Run() override {
    ForEachPart(width_, groups() * parts_, [this](int64_t begin, int64_t end, int thread) {
      for (int64_t i = begin; i < end; ++i) RunPart(i / parts_, i % parts_, lanes_[thread]);
    });
    if (parts_ == 1) return absl::OkStatus();
    ForEachPart(width_, m_.heads * m_.queries, [this](int64_t begin, int64_t end, int thread) {
      for (int64_t row = begin; row < end; ++row) JoinParts(row, lanes_[thread]);
    });
    return absl::OkStatus();
  }

 private:
  // What one thread works with.
  struct Lane {
    std::vector<float*> scores;   // by row of a group
    std::vector<float*> results;  // the same; not used where there is one part
    float* mask = nullptr;        // of a row, where there are several
    float* shares = nullptr;      // by part
  };

  int64_t groups() const { return m_.heads / group_heads_; }
  int64_t FirstKeyOf(int64_t part) const { return part * m_.keys / parts_; }
  // What a part gives a row, where there are several.
  float* ResultOf(int64_t row, int64_t part) const {
    return part_results_ + (row * parts_ + part) * m_.value_size;
  }
  void RunPart(int64_t group, int64_t part, Lane& lane) const;
  void WeighKeys(int64_t row, int64_t part, const Lane& lane, float* scores) const;
  void JoinParts(int64_t row, const Lane& lane) const;

  const int width_;
  const AttentionMatrices m_;
  const int64_t parts_;  // of the keys of a head
  const int64_t part_keys_max_;
  int64_t group_heads_ = 1;  // that share a key and a value
  // By head and query, as all rows are.
  std::vector<const float*> queries_;
  std::vector<float*> results_;
  // Of the parts, where there are several: [row][part].
  float* part_results_ = nullptr;  // of each value_size numbers
  SoftmaxPart* softmaxes_ = nullptr;
  std::vector<Lane> lanes_;
};

// Of the heads that stand beside each other; 1 where they do not all share alike.
int64_t HeadsThatShare(const AttentionMatrices& m) {
  const auto share = [&](int64_t a, int64_t b) {
    return m.key.offsets[a] == m.key.offsets[b] && m.value.offsets[a] == m.value.offsets[b];
  };
  int64_t count = 1;
  while (count < m.heads && share(0, count)) ++count;
  if (m.heads % count != 0) return 1;
  for (int64_t head = 0; head < m.heads; ++head) {
    if (!share(head, head / count * count)) return 1;
  }
  return count;
}

absl::Status FewQueriesKernel::Prepare(LoadContext* context) {
  group_heads_ = HeadsThatShare(m_);
  for (int64_t head = 0; head < m_.heads; ++head) {
    for (int64_t query = 0; query < m_.queries; ++query) {
      queries_.push_back(m_.query.At(head) + query * m_.query.row_stride);
      results_.push_back(m_.result.At(head) + query * m_.result.row_stride);
    }
  }
  const int64_t part_rows = parts_ == 1 ? 0 : m_.heads * m_.queries * parts_;
  PLAIT_ASSIGN_OR_RETURN(part_results_, ScratchOf<float>(context, part_rows * m_.value_size));
  PLAIT_ASSIGN_OR_RETURN(softmaxes_, ScratchOf<SoftmaxPart>(context, part_rows));
  const int64_t rows = group_heads_ * m_.queries;
  for (int i = 0; i < width_; ++i) {
    Lane& lane = lanes_.emplace_back();
    PLAIT_ASSIGN_OR_RETURN(float* const scores, ScratchOf<float>(context, rows * part_keys_max_));
    for (int64_t row = 0; row < rows; ++row) lane.scores.push_back(scores + row * part_keys_max_);
    lane.results.resize(rows);
    PLAIT_ASSIGN_OR_RETURN(lane.mask, ScratchOf<float>(context, m_.keys));
    PLAIT_ASSIGN_OR_RETURN(lane.shares, ScratchOf<float>(context, parts_));
  }
  return absl::OkStatus();
}

// Whether the elements of a row lie beside each other.
bool HasRows(const HeadMatrices& matrices, int64_t columns) {
  return matrices.column_stride == 1 || columns == 1;
}

// The same of a column.
bool HasColumns(const HeadMatrices& matrices, int64_t rows) {
  return matrices.row_stride == 1 || rows == 1;
}

void FewQueriesKernel::RunPart(int64_t group, int64_t part, Lane& lane) const {
  const int64_t head = group * group_heads_;
  const int64_t first_row = head * m_.queries;
  const int64_t rows = group_heads_ * m_.queries;
  const int64_t first_key = FirstKeyOf(part);
  RowsProduct scores{.left = &queries_[first_row],
                     .rows = rows,
                     .depth = m_.size,
                     .right = m_.key.At(head) + first_key * m_.key.row_stride,
                     .right_row_floats = m_.key.row_stride,
                     .columns = FirstKeyOf(part + 1) - first_key,
                     .y = lane.scores.data()};
  if (HasRows(m_.key, m_.size)) {
    Loops().rows_by_transposed(scores);
  } else {
    scores.right_row_floats = m_.key.column_stride;
    Loops().rows_by_row_major(scores);
  }
  for (int64_t i = 0; i < rows; ++i) {
    WeighKeys(first_row + i, part, lane, lane.scores[i]);
    if (parts_ > 1) lane.results[i] = ResultOf(first_row + i, part);
  }
  RowsProduct result{.left = lane.scores.data(),
                     .rows = rows,
                     .depth = scores.columns,
                     .right = m_.value.At(head) + first_key * m_.value.row_stride,
                     .right_row_floats = m_.value.row_stride,
                     .columns = m_.value_size,
                     .y = parts_ > 1 ? lane.results.data() : &results_[first_row]};
  if (HasRows(m_.value, m_.value_size)) {
    Loops().rows_by_row_major(result);
  } else {
    result.right_row_floats = m_.value.column_stride;
    Loops().rows_by_transposed(result);
  }
}

// `scores` become the weights of the part's keys, in place.
void FewQueriesKernel::WeighKeys(int64_t row, int64_t part, const Lane& lane, float* scores) const {
  const int64_t head = row / m_.queries;
  const int64_t query = row % m_.queries;
  const int64_t first = FirstKeyOf(part);
  const int64_t count = FirstKeyOf(part + 1) - first;
  const auto is_hidden = [&](const float* mask, int64_t size) {
    return mask != nullptr && Loops().maximum(mask, size) == -kInfinity;
  };
  // The whole row is looked at only where there is reason to.
  if (m_.hides_masked_rows && is_hidden(m_.MaskOf(head, query, first, count, lane.mask), count) &&
      is_hidden(m_.MaskOf(head, query, 0, m_.keys, lane.mask), m_.keys)) {
    std::fill(scores, scores + count, 0.0f);
    if (parts_ > 1) softmaxes_[row * parts_ + part] = {.largest = 0, .sum = 1};
    return;
  }
  const float* const mask = m_.MaskOf(head, query, first, count, lane.mask);
  const SoftmaxRow softmax{scores, mask, scores, count, m_.scale, false};
  if (parts_ > 1) {
    softmaxes_[row * parts_ + part] = Loops().softmax_part(softmax);
  } else {
    Loops().softmax_row(softmax);
  }
}

// Where all parts are minus infinity, all shares are NaN.
void FewQueriesKernel::JoinParts(int64_t row, const Lane& lane) const {
  const SoftmaxPart* const softmaxes = softmaxes_ + row * parts_;
  float largest = -kInfinity;
  for (int64_t i = 0; i < parts_; ++i) largest = std::max(largest, softmaxes[i].largest);
  for (int64_t i = 0; i < parts_; ++i) lane.shares[i] = softmaxes[i].largest - largest;
  Loops().unary[static_cast<int>(UnaryLoop::kExp)](lane.shares, lane.shares, parts_, 0, 0);
  float sum = 0;
  for (int64_t i = 0; i < parts_; ++i) sum += lane.shares[i] *= softmaxes[i].sum;
  for (int64_t i = 0; i < parts_; ++i) lane.shares[i] /= sum;
  const float* const shares = lane.shares;
  Loops().rows_by_row_major({.left = &shares,
                             .rows = 1,
                             .depth = parts_,
                             .right = ResultOf(row, 0),
                             .right_row_floats = m_.value_size,
                             .columns = m_.value_size,
                             .y = &results_[row]});
}

}  // namespace

bool HasFewQueries(const AttentionMatrices& matrices) {
  const HeadMatrices& key = matrices.key;
  const HeadMatrices& value = matrices.value;
  return matrices.queries <= kQueriesMax &&
         (HasRows(key, matrices.size) || HasColumns(key, matrices.keys)) &&
         (HasRows(value, matrices.value_size) || HasColumns(value, matrices.keys));
}

absl::StatusOr<std::unique_ptr<CpuKernel>> LoadFewQueries(LoadContext* context,
                                                          AttentionMatrices matrices) {
  auto kernel = std::make_unique<FewQueriesKernel>(context->width(), std::move(matrices));
  PLAIT_RETURN_IF_ERROR(kernel->Prepare(context));
  return kernel;
}

}  // namespace plait
