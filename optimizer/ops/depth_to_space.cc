#include "optimizer/ops/shared/movement.h"
#include "optimizer/ops/shared/space_depth.h"

namespace plait {
namespace {

constexpr BlockDirection kToSpace = BlockDirection::kDepthToSpace;

Types InferDepthToSpace(const OpCall& call) { return InferBlockMove(call, kToSpace); }

absl::Status EvaluateDepthToSpace(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  return EvaluateBlockMove(call, inputs, outputs, kToSpace);
}

absl::StatusOr<std::vector<TensorId>> ExpandDepthToSpace(const Node& node, GraphBuilder* builder) {
  return ExpandBlockMove(node, builder, kToSpace);
}

absl::Status LowerDepthToSpace(VersionedNode* node) {
  return LowerBlockMove(node, /*mode_opset=*/11);
}

}  // namespace

// y[n, c, h * b + i, w * b + j] = x[n, channel(c, i, j), h, w]: each pixel becomes a block of b x b
// (Shi et al., CVPR 2016). Mode CRD came with opset 11.
const OpSpec kDepthToSpaceSpec = {
    .kind = OpKind::kDepthToSpace,
    .traits = kDataMovement,
    .infer = InferDepthToSpace,
    .work = MovementWork,
    .evaluate = EvaluateDepthToSpace,
    .lower = LowerDepthToSpace,
    .expand = ExpandDepthToSpace,
    .expands_at_import = HasElements,
};

}  // namespace plait
