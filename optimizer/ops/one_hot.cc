#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/broadcast.h"
#include "optimizer/ops/shared/expansion.h"
#include "optimizer/ops/shared/movement.h"
#include "optimizer/ops/shared/type_set.h"

namespace plait {
namespace {

constexpr size_t kDepth = 1;
constexpr size_t kValues = 2;
constexpr int64_t kExpandedDepthMax = 65'536;

// Where the new axis stands: `axis` counts those of the result.
absl::StatusOr<int> NewAxis(const Attributes& attributes, const TensorType& indices) {
  return NormalizeAxis(attributes.Int("axis", -1), indices.rank() + 1);
}

absl::StatusOr<int64_t> DepthOf(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, kDepth, TypeSet::kNumber));
  const Tensor* depth = call.constant(kDepth);
  if (depth == nullptr) return absl::UnimplementedError("the depth must be a small constant");
  if (depth->elements() != 1 || depth->type().rank() > 1) {
    return absl::InvalidArgumentError("the depth must be one number");
  }
  const double value = depth->AsDoubles()[0];
  if (!(value >= 0 && value <= static_cast<double>(kTensorElementsMax))) {
    return absl::InvalidArgumentError(absl::StrCat("the depth must not be ", value));
  }
  return static_cast<int64_t>(value);
}

Types InferOneHot(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kNumber));
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, kValues, TypeSet::kAny));
  PLAIT_ASSIGN_OR_RETURN(const int64_t depth, DepthOf(call));
  PLAIT_ASSIGN_OR_RETURN(const int axis, NewAxis(call.attributes, call.input_types[0]));
  if (call.input_types[kValues].shape != Shape{2}) {
    return absl::InvalidArgumentError("the values must be two, those of off and on");
  }
  Shape shape = call.input_types[0].shape;
  shape.insert(shape.begin() + axis, depth);
  PLAIT_ASSIGN_OR_RETURN(TensorType type,
                         CheckedType(call.input_types[kValues].dtype, std::move(shape)));
  return std::vector<TensorType>{std::move(type)};
}

// The element of the new axis that is on; -1 for none.
int64_t OnIndex(double index, int64_t depth) {
  const double whole = std::trunc(index);
  if (!(whole >= -static_cast<double>(depth) && whole < static_cast<double>(depth))) return -1;
  const auto at = static_cast<int64_t>(whole);
  return at < 0 ? at + depth : at;
}

int64_t OnIndex(int64_t index, int64_t depth) {
  if (index < -depth || index >= depth) return -1;
  return index < 0 ? index + depth : index;
}

absl::Status EvaluateOneHot(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  PLAIT_ASSIGN_OR_RETURN(const int64_t depth, DepthOf(call));
  PLAIT_ASSIGN_OR_RETURN(const int axis, NewAxis(call.attributes, inputs[0]->type));
  const Shape& shape = inputs[0]->type.shape;
  const int64_t inner = ElementsOf(Shape(shape.begin() + axis, shape.end()));
  std::vector<int64_t> on;
  if (const auto* floats = std::get_if<std::vector<double>>(&inputs[0]->values)) {
    for (const double index : *floats) on.push_back(OnIndex(index, depth));
  } else if (const auto* integers = std::get_if<std::vector<int64_t>>(&inputs[0]->values)) {
    // An unsigned index beyond int64 is negative here, and beyond -depth too.
    for (const int64_t index : *integers) on.push_back(OnIndex(index, depth));
  } else {
    return absl::UnimplementedError("a field element is no index");
  }
  MoveElements(*inputs[kValues], &outputs[0], [&](const auto& values, auto& to) {
    std::fill(to.begin(), to.end(), values[0]);
    for (size_t i = 0; i < on.size(); ++i) {
      if (on[i] < 0) continue;
      const int64_t outer = static_cast<int64_t>(i) / inner;
      to[(outer * depth + on[i]) * inner + static_cast<int64_t>(i) % inner] = values[1];
    }
  });
  return absl::OkStatus();
}

// Where(Equal(indices, 0 .. depth - 1), on, off), with the indices' axes around the new one.
absl::StatusOr<std::vector<TensorId>> ExpandOneHot(const Node& node, GraphBuilder* builder) {
  Expansion expansion(builder);
  const TensorType type = expansion.type(node.inputs[0]);
  const Tensor* const depth_value =
      builder->tensor(node.inputs[kDepth]).constant == nullptr
          ? nullptr
          : builder->tensor(node.inputs[kDepth]).constant->inline_value();
  if (depth_value == nullptr || !IsInteger(type.dtype)) {
    return absl::UnimplementedError("needs a constant depth and integers");
  }
  const auto depth = static_cast<int64_t>(depth_value->AsDoubles()[0]);
  PLAIT_ASSIGN_OR_RETURN(const int axis, NewAxis(*node.attributes, type));
  const TensorId given = expansion.Cast(node.inputs[0], DataType::kInt64);
  const TensorId is_negative =
      expansion.Add(OpKind::kLess, {given, expansion.Scalar(DataType::kInt64, 0)});
  const TensorId from_back = expansion.Add(
      OpKind::kAdd, {given, expansion.Scalar(DataType::kInt64, static_cast<double>(depth))});
  const TensorId index = expansion.Add(OpKind::kWhere, {is_negative, from_back, given});
  const TensorId indices =
      expansion.Add(OpKind::kUnsqueeze, {index, expansion.Ints({int64_t{axis}})});
  std::vector<int64_t> range(static_cast<size_t>(depth));
  std::iota(range.begin(), range.end(), 0);
  Shape range_shape(static_cast<size_t>(type.rank() - axis + 1), 1);
  range_shape[0] = depth;
  const TensorId numbers =
      expansion.Constant(Tensor::FromInt64s({DataType::kInt64, range_shape}, range));
  const TensorId is_on = expansion.Add(OpKind::kEqual, {indices, numbers});
  const auto value = [&](int i) {
    const TensorId at = expansion.Scalar(DataType::kInt64, i);
    return expansion.Add(OpKind::kGather, {node.inputs[kValues], at});
  };
  return expansion.Outputs({expansion.Add(OpKind::kWhere, {is_on, value(1), value(0)})});
}

// Integers that int64 holds, and no more numbers to compare with than a model may well carry.
bool ExpandsOneHotAtImport(const OpCall& call) {
  const DataType dtype = call.input_types[0].dtype;
  const absl::StatusOr<int64_t> depth = DepthOf(call);
  return IsInteger(dtype) && dtype != DataType::kUint64 && depth.ok() &&
         *depth <= kExpandedDepthMax;
}

}  // namespace

// y[a.., d, b..] = values[1] where indices[a.., b..] is d, or d - depth, else values[0].
const OpSpec kOneHotSpec = {
    .kind = OpKind::kOneHot,
    .since_opset = 9,
    .inputs = {3, 3},
    .infer = InferOneHot,
    .work = FillWork,
    .evaluate = EvaluateOneHot,
    .expand = ExpandOneHot,
    .expands_at_import = ExpandsOneHotAtImport,
};

}  // namespace plait
