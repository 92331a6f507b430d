#include "optimizer/ops/shared/reduction.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/expansion.h"

namespace plait {
namespace {

// True when the node reduces nothing. `axes` is the constant, nullptr when omitted.
bool ReducesNothing(const Attributes& attributes, const Tensor* axes) {
  return attributes.Int("noop_with_empty_axes", 0) != 0 &&
         (axes == nullptr || axes->elements() == 0);
}

}  // namespace

// [2, 3, 4] over axis 1: kept is [2, 1, 4], count is 3, and the type has kept's shape, or [2, 4]
// without keepdims.
absl::StatusOr<Reduction> ReductionOf(const OpCall& call) {
  const TensorType& input = call.input_types[0];
  std::vector<int64_t> listed;
  if (call.has_input(1)) {
    PLAIT_ASSIGN_OR_RETURN(listed, ConstantInts(call, 1));
  }
  PLAIT_ASSIGN_OR_RETURN(std::vector<int> axes, NormalizeAxes(listed, input.rank()));
  Reduction reduction;
  reduction.kept = input.shape;
  reduction.empty = axes.empty() && call.attributes.Int("noop_with_empty_axes", 0) != 0;
  if (axes.empty() && !reduction.empty) {
    for (int axis = 0; axis < input.rank(); ++axis) axes.push_back(axis);
  }
  std::vector<bool> reduced(input.shape.size(), false);
  for (int axis : axes) {
    reduced[axis] = true;
    reduction.kept[axis] = 1;
    reduction.count *= input.shape[axis];
  }
  Shape shape;
  const bool keeps = call.attributes.Int("keepdims", 1) != 0;
  for (int axis = 0; axis < input.rank(); ++axis) {
    if (keeps || !reduced[axis]) shape.push_back(reduction.kept[axis]);
  }
  PLAIT_ASSIGN_OR_RETURN(reduction.type, CheckedType(input.dtype, std::move(shape)));
  return reduction;
}

Types InferReduce(const OpCall& call, TypeSet set) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, set));
  PLAIT_ASSIGN_OR_RETURN(const Reduction reduction, ReductionOf(call));
  return std::vector<TensorType>{reduction.type};
}

Work WorkOfReduce(const OpCall& call, absl::Span<const TensorType> output_types) {
  Work work = DefaultWork(call, output_types);
  work.flops = call.input_types[0].elements();
  return work;
}

// An empty list of axes meant all of them, as an omitted input does.
absl::Status RaiseReduce(VersionedNode* node, int axes_opset) {
  if (node->opset >= axes_opset) return absl::OkStatus();
  const std::vector<int64_t> axes = node->attributes.Ints("axes");
  node->attributes.Erase("axes");
  if (axes.empty()) return absl::OkStatus();
  node->constants.resize(1);
  node->present.resize(1);
  node->input_types.resize(1);
  const Tensor value = Tensor::Int64s(axes);
  node->constants.push_back(value);
  node->present.push_back(true);
  node->input_types.push_back(value.type());
  return absl::OkStatus();
}

// The reverse, for opsets whose axes are an attribute; what that cannot say is refused.
absl::Status LowerReduce(VersionedNode* node, int axes_opset) {
  if (node->opset >= axes_opset) return absl::OkStatus();
  const bool has_axes = node->present.size() > 1 && node->present[1];
  const Tensor* axes = has_axes && node->constants[1].has_value() ? &*node->constants[1] : nullptr;
  if (has_axes && axes == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat("opset ", node->opset, " has no axes that are not constant"));
  }
  if (ReducesNothing(node->attributes, axes)) {
    return absl::UnimplementedError(
        absl::StrCat("opset ", node->opset, " has no reduction over no axes"));
  }
  node->attributes.Erase("noop_with_empty_axes");
  if (axes != nullptr && axes->elements() > 0) {
    // Up to opset 10 axes counted from the front only.
    PLAIT_ASSIGN_OR_RETURN(const std::vector<int> from_front,
                           NormalizeAxes(axes->AsInt64s(), node->input_types[0].rank()));
    node->attributes.Set("axes", std::vector<int64_t>(from_front.begin(), from_front.end()));
  }
  node->constants.resize(1);
  node->present.resize(1);
  node->input_types.resize(1);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TensorId>> ExpandReduce(const Node& node, GraphBuilder* builder) {
  return ExpandElements(node, builder, [](TensorId x, Expansion* expansion) {
    return expansion->Add(OpKind::kIdentity, {x});
  });
}

bool ReducesNothing(const OpCall& call) {
  const absl::StatusOr<Reduction> reduction = ReductionOf(call);
  return reduction.ok() && reduction->empty;
}

Types InferFloatReduce(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kNumber));
  if (!IsFloat(call.input_types[0].dtype)) {
    return absl::UnimplementedError("logarithms of integers are not implemented");
  }
  return InferReduce(call, TypeSet::kFloat);
}

// Only a reduction over nothing is something simpler.
absl::StatusOr<std::vector<TensorId>> ExpandElements(
    const Node& node, GraphBuilder* builder,
    absl::FunctionRef<TensorId(TensorId x, Expansion* expansion)> element) {
  const bool has_axes = node.inputs.size() > 1 && node.inputs[1] != kNoTensor;
  const TensorInfo* axes = has_axes ? &builder->tensor(node.inputs[1]) : nullptr;
  const bool no_axes = axes == nullptr || axes->type.elements() == 0;
  if (!no_axes || node.attributes->Int("noop_with_empty_axes", 0) == 0) {
    return absl::UnimplementedError("this reduction has no expansion");
  }
  Expansion expansion(builder);
  return expansion.Outputs({element(node.inputs[0], &expansion)});
}

}  // namespace plait
