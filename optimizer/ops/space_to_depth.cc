#include "optimizer/ops/shared/movement.h"
#include "optimizer/ops/shared/space_depth.h"

namespace plait {
namespace {

constexpr BlockDirection kToDepth = BlockDirection::kSpaceToDepth;

Types InferSpaceToDepth(const OpCall& call) { return InferBlockMove(call, kToDepth); }

absl::Status EvaluateSpaceToDepth(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  return EvaluateBlockMove(call, inputs, outputs, kToDepth);
}

absl::StatusOr<std::vector<TensorId>> ExpandSpaceToDepth(const Node& node, GraphBuilder* builder) {
  return ExpandBlockMove(node, builder, kToDepth);
}

absl::Status LowerSpaceToDepth(VersionedNode* node) {
  return LowerBlockMove(node, /*mode_opset=*/28);
}

}  // namespace

// y[n, channel(c, i, j), h, w] = x[n, c, h * b + i, w * b + j]: each block of b x b becomes a
// pixel. Mode CRD came with opset 28.
const OpSpec kSpaceToDepthSpec = {
    .kind = OpKind::kSpaceToDepth,
    .traits = kDataMovement,
    .infer = InferSpaceToDepth,
    .work = MovementWork,
    .evaluate = EvaluateSpaceToDepth,
    .lower = LowerSpaceToDepth,
    .expand = ExpandSpaceToDepth,
    .expands_at_import = HasElements,
};

}  // namespace plait
