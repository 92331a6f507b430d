#include "base/status_macros.h"
#include "optimizer/ops/shared/expansion.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/ops/shared/type_set.h"

namespace plait {
namespace {

Types Infer(const OpCall& call) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kAny));
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 1, TypeSet::kAny));
  return std::vector<TensorType>{{call.input_types[1].dtype, call.input_types[0].shape}};
}

absl::Status Evaluate(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  return kCastSpec.evaluate(call, inputs.first(1), outputs);
}

absl::StatusOr<std::vector<TensorId>> Expand(const Node& node, GraphBuilder* builder) {
  Expansion expansion(builder);
  const auto to = static_cast<int64_t>(expansion.type(node.inputs[1]).dtype);
  return expansion.Outputs({expansion.Add(OpKind::kCast, {node.inputs[0]}, {{"to", to}})});
}

absl::Status DropFloat8Attributes(VersionedNode* node) { return kCastSpec.raise(node); }

}  // namespace

// y = x in the element type of the second input, whose elements are not read: with types known, a
// Cast.
const OpSpec kCastLikeSpec = {
    .kind = OpKind::kCastLike,
    .since_opset = 15,
    .inputs = {2, 2},
    .infer = Infer,
    .evaluate = Evaluate,
    .raise = DropFloat8Attributes,
    .lower = DropFloat8Attributes,
    .expand = Expand,
    .expands_at_import = AlwaysExpands,
};

}  // namespace plait
