#include "optimizer/ops/shared/space_depth.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/expansion.h"
#include "optimizer/ops/shared/movement.h"
#include "optimizer/ops/shared/type_set.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {

// In mode DCR (depth, column, row) the block's axes are the slowest ones of the channels, in CRD
// the fastest.
absl::StatusOr<BlockMove> ReadBlockMove(const Attributes& attributes, const TensorType& input,
                                        BlockDirection direction) {
  const std::string mode = attributes.String("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") {
    return absl::InvalidArgumentError(absl::StrCat("mode must be DCR or CRD, is ", mode));
  }
  if (input.rank() != 4) {
    return absl::InvalidArgumentError(absl::StrCat("input must be images, is ", input.ToString()));
  }
  const int64_t size = attributes.Int("blocksize", 0);
  const Shape& x = input.shape;
  const bool to_space = direction == BlockDirection::kDepthToSpace;
  const int64_t block = size < 1 ? 0 : SaturatingMultiply(size, size);
  if (size < 1 || (to_space ? x[1] % block != 0 : x[2] % size != 0 || x[3] % size != 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a blocksize of ", size, " does not divide ", input.ToString()));
  }
  const bool block_first = mode == "DCR";
  if (to_space) {
    const int64_t depth = x[1] / block;
    PLAIT_ASSIGN_OR_RETURN(TensorType result,
                           CheckedType(input.dtype, {x[0], depth, SaturatingMultiply(x[2], size),
                                                     SaturatingMultiply(x[3], size)}));
    if (block_first) {
      return BlockMove{
          {x[0], size, size, depth, x[2], x[3]}, {0, 3, 4, 1, 5, 2}, std::move(result.shape)};
    }
    return BlockMove{
        {x[0], depth, size, size, x[2], x[3]}, {0, 1, 4, 2, 5, 3}, std::move(result.shape)};
  }
  PLAIT_ASSIGN_OR_RETURN(
      TensorType result,
      CheckedType(input.dtype, {x[0], SaturatingMultiply(x[1], block), x[2] / size, x[3] / size}));
  std::vector<int64_t> perm = {0, 1, 3, 5, 2, 4};
  if (block_first) perm = {0, 3, 5, 1, 2, 4};
  return BlockMove{
      {x[0], x[1], x[2] / size, size, x[3] / size, size}, std::move(perm), std::move(result.shape)};
}

Types InferBlockMove(const OpCall& call, BlockDirection direction) {
  PLAIT_RETURN_IF_ERROR(CheckDataType(call, 0, TypeSet::kAny));
  PLAIT_ASSIGN_OR_RETURN(BlockMove move,
                         ReadBlockMove(call.attributes, call.input_types[0], direction));
  return std::vector<TensorType>{{call.input_types[0].dtype, std::move(move.result)}};
}

absl::Status EvaluateBlockMove(const OpCall& call, EvalInputs inputs, EvalOutputs outputs,
                               BlockDirection direction) {
  PLAIT_ASSIGN_OR_RETURN(const BlockMove move,
                         ReadBlockMove(call.attributes, inputs[0]->type, direction));
  const Shape from = RowMajorStrides(move.split);
  Shape shape;
  Shape strides;
  for (const int64_t axis : move.perm) {
    shape.push_back(move.split[axis]);
    strides.push_back(from[axis]);
  }
  CopyStrided(*inputs[0], 0, shape, strides, &outputs[0]);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TensorId>> ExpandBlockMove(const Node& node, GraphBuilder* builder,
                                                      BlockDirection direction) {
  Expansion expansion(builder);
  PLAIT_ASSIGN_OR_RETURN(
      const BlockMove move,
      ReadBlockMove(*node.attributes, expansion.type(node.inputs[0]), direction));
  if (ElementsOf(move.result) == 0) return absl::UnimplementedError("a form without elements");
  const auto ints = [&](const Shape& shape) {
    return expansion.Ints(std::vector<int64_t>(shape.begin(), shape.end()));
  };
  const TensorId split = expansion.Add(OpKind::kReshape, {node.inputs[0], ints(move.split)});
  const TensorId moved = expansion.Add(OpKind::kTranspose, {split}, {{"perm", move.perm}});
  return expansion.Outputs({expansion.Add(OpKind::kReshape, {moved, ints(move.result)})});
}

absl::Status LowerBlockMove(VersionedNode* node, int mode_opset) {
  if (node->opset >= mode_opset) return absl::OkStatus();
  if (node->attributes.String("mode", "DCR") != "DCR") return NeedsOpset("this mode", mode_opset);
  node->attributes.Erase("mode");
  return absl::OkStatus();
}

bool HasElements(const OpCall& call) { return call.input_types[0].elements() > 0; }

}  // namespace plait
