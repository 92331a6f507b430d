#include "base/status_macros.h"
#include "optimizer/ops/shared/expansion.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/ops/shared/type_set.h"

namespace plait {
namespace {

Types InferCastLike(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kAny));
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 1, TypeSet::kAny));
  return std::vector<TensorType>{{call.input_types[1].dtype, call.input_types[0].shape}};
}

absl::Status EvaluateCastLike(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  return kCastSpec.evaluate(call, inputs.first(1), outputs);
}

absl::StatusOr<std::vector<TensorId>> ExpandCastLike(const Node& node, GraphBuilder* builder) {
  Expansion expansion(builder);
  const auto to = static_cast<int64_t>(expansion.type(node.inputs[1]).dtype);
  return expansion.Outputs({expansion.Add(OpKind::kCast, {node.inputs[0]}, {{"to", to}})});
}

absl::Status DropCastAttributes(VersionedNode* node) { return kCastSpec.raise(node); }

}  // namespace

// y = x in the element type of the second input, whose elements are not read: with types known, a
// Cast.
const OpSpec kCastLikeSpec = {
    .kind = OpKind::kCastLike,
    .since_opset = 15,
    .inputs = {2, 2},
    .infer = InferCastLike,
    .evaluate = EvaluateCastLike,
    .raise = DropCastAttributes,
    .lower = DropCastAttributes,
    .expand = ExpandCastLike,
    .expands_at_import = AlwaysExpands,
};

}  // namespace plait
