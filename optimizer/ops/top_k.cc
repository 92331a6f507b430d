#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/broadcast.h"
#include "optimizer/ops/shared/elementwise.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {
namespace {

constexpr size_t kCount = 1;

absl::StatusOr<int64_t> CountOf(const OpCall& call, int64_t dim) {
  PLAIT_ASSIGN_OR_RETURN(const std::vector<int64_t> count, ConstantInts(call, kCount));
  if (count.size() != 1 || count[0] < 0 || count[0] > dim) {
    return absl::InvalidArgumentError(
        absl::StrCat("k must be one number from 0 to the axis' ", dim, " elements"));
  }
  return count[0];
}

Types InferTopK(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kNumber));
  PLAIT_ASSIGN_OR_RETURN(const int axis, AxisOfInput(call, "axis", -1));
  TensorType type = call.input_types[0];
  PLAIT_ASSIGN_OR_RETURN(type.shape[axis], CountOf(call, type.shape[axis]));
  std::vector<TensorType> types = {type, {DataType::kInt64, type.shape}};
  types.resize(static_cast<size_t>(call.output_count));
  return types;
}

// A comparison of each element with the last one of those that are kept.
Work WorkOfTopK(const OpCall& call, absl::Span<const TensorType> output_types) {
  Work work = DefaultWork(call, output_types);
  work.flops = call.input_types[0].elements();
  return work;
}

// Whether a comes before b. NaN counts as larger than every number, and equal ones keep their
// order.
template <typename Number>
bool IsLess(Number a, Number b) {
  return a < b || (b != b && a == a);
}

template <typename Number, typename Value>
void Choose(const std::vector<Value>& x, const Shape& from, const Shape& to, int axis, bool largest,
            std::vector<Value>* values, std::vector<int64_t>* indices) {
  const int64_t dim = from[axis];
  const int64_t count = to[axis];
  const int64_t step = RowMajorStrides(from)[axis];
  std::vector<int64_t> order(static_cast<size_t>(dim));
  const int64_t lines = count == 0 ? 0 : static_cast<int64_t>(values->size()) / count;
  for (int64_t line = 0; line < lines; ++line) {
    const int64_t outer = line / step;
    const Value* const first = x.data() + outer * dim * step + line % step;
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      const auto left = static_cast<Number>(first[a * step]);
      const auto right = static_cast<Number>(first[b * step]);
      return largest ? IsLess(right, left) : IsLess(left, right);
    });
    for (int64_t i = 0; i < count; ++i) {
      const int64_t place = (outer * count + i) * step + line % step;
      (*values)[place] = first[order[i] * step];
      if (indices != nullptr) (*indices)[place] = order[i];
    }
  }
}

// Sorted, whatever the attribute says: without it any order will do.
absl::Status EvaluateTopK(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  PLAIT_ASSIGN_OR_RETURN(const int axis, AxisOfInput(call, "axis", -1));
  const bool largest = call.attributes.Int("largest", 1) != 0;
  const Shape& from = inputs[0]->type.shape;
  const Shape& to = outputs[0].type.shape;
  auto* indices = outputs.size() > 1 ? &std::get<std::vector<int64_t>>(outputs[1].values) : nullptr;
  if (const auto* x = std::get_if<std::vector<double>>(&inputs[0]->values)) {
    auto* y = &std::get<std::vector<double>>(outputs[0].values);
    Choose<double>(*x, from, to, axis, largest, y, indices);
    return absl::OkStatus();
  }
  const auto* x = std::get_if<std::vector<int64_t>>(&inputs[0]->values);
  if (x == nullptr) return NoMeaningInField();
  auto* y = &std::get<std::vector<int64_t>>(outputs[0].values);
  if (inputs[0]->type.dtype == DataType::kUint64) {
    Choose<uint64_t>(*x, from, to, axis, largest, y, indices);
  } else {
    Choose<int64_t>(*x, from, to, axis, largest, y, indices);
  }
  return absl::OkStatus();
}

absl::Status RaiseTopK(VersionedNode* node) {
  if (node->opset >= 10) return absl::OkStatus();
  SetConstantInput(node, kCount, Tensor::Int64s({node->attributes.Int("k", -1)}));
  node->attributes.Erase("k");
  return absl::OkStatus();
}

// Opset 11 brought the smallest elements and any order of them, 10 made k an input.
absl::Status LowerTopK(VersionedNode* node) {
  if (node->opset >= 11) return absl::OkStatus();
  if (node->attributes.Int("largest", 1) == 0) return NeedsOpset("the smallest elements", 11);
  node->attributes.Erase("largest");
  node->attributes.Erase("sorted");
  MakeAxisPositive(node, "axis", node->input_types[0].rank());
  if (node->opset >= 10) return absl::OkStatus();
  PLAIT_ASSIGN_OR_RETURN(const std::optional<std::vector<int64_t>> count,
                         IntsOfInput(*node, kCount));
  if (!count.has_value() || count->size() != 1) return NeedsOpset("k as an input", 10);
  node->attributes.Set("k", count->front());
  DropInput(node, kCount);
  return absl::OkStatus();
}

}  // namespace

// values, indices = the k largest (or smallest) elements along the axis and where they stand, the
// first one first; of equal ones those that stand first.
const OpSpec kTopKSpec = {
    .kind = OpKind::kTopK,
    .inputs = {2, 2},
    .outputs = {1, 2},
    .infer = InferTopK,
    .work = WorkOfTopK,
    .evaluate = EvaluateTopK,
    .raise = RaiseTopK,
    .lower = LowerTopK,
};

}  // namespace plait
