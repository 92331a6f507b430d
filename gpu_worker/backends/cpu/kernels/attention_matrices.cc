#include "gpu_worker/backends/cpu/kernels/attention_matrices.h"

#include <utility>

#include "base/status_macros.h"

namespace plait {
namespace {

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

}  // namespace

const float* AttentionMatrices::MaskOf(int64_t head, int64_t query, int64_t first, int64_t count,
                                       float* sum) const {
  const float* all = nullptr;
  for (const HeadMatrices& mask : masks) {
    const float* const row = mask.At(head) + query * mask.row_stride + first;
    if (all == nullptr) {
      all = row;
      continue;
    }
    for (int64_t key = 0; key < count; ++key) sum[key] = all[key] + row[key];
    all = sum;
  }
  return all;
}

absl::StatusOr<AttentionMatrices> FindAttentionMatrices(LoadContext* context,
                                                        const AttentionPattern& pattern) {
  const Shape& query = pattern.query.view.shape;
  const Shape& value = pattern.value.view.shape;
  AttentionMatrices found{.queries = query[query.size() - 2],
                          .keys = value[value.size() - 2],
                          .size = query.back(),
                          .value_size = value.back(),
                          .scale = pattern.scale,
                          .hides_masked_rows = pattern.hides_masked_rows};
  found.masks.resize(pattern.masks.size());
  std::vector<std::pair<const AttentionPattern::Matrices*, HeadMatrices*>> all = {
      {&pattern.query, &found.query},
      {&pattern.key, &found.key},
      {&pattern.value, &found.value},
      {&pattern.result, &found.result}};
  for (size_t i = 0; i < found.masks.size(); ++i) {
    all.emplace_back(&pattern.masks[i], &found.masks[i]);
  }
  for (const auto& [matrices, to] : all) {
    PLAIT_ASSIGN_OR_RETURN(const Operand operand,
                           FindIn(context, matrices->tensor, Format::kPlain));
    *to = MatricesOf(operand, matrices->view);
  }
  found.heads = static_cast<int64_t>(found.query.offsets.size());
  return found;
}

}  // namespace plait
