#pragma once

#include <vector>

#include "optimizer/ops/shared/op_spec.h"

// What DepthToSpace and SpaceToDepth share: channels become blocks of pixels, or the reverse. Both
// are a reshape to six axes, a transpose and a reshape, as they are written at import.
namespace plait {

enum class BlockDirection { kDepthToSpace, kSpaceToDepth };

// How [batch, channels, height, width] is moved.
struct BlockMove {
  Shape split;                // the input's six axes
  std::vector<int64_t> perm;  // their order in the result
  Shape result;
};

// Errors: InvalidArgument for another rank or mode, and a blocksize that does not divide the input.
absl::StatusOr<BlockMove> ReadBlockMove(const Attributes& attributes, const TensorType& input,
                                        BlockDirection direction);

// OpSpec's functions, of one direction each.
Types InferBlockMove(const OpCall& call, BlockDirection direction);
absl::Status EvaluateBlockMove(const OpCall& call, EvalInputs inputs, EvalOutputs outputs,
                               BlockDirection direction);
absl::StatusOr<std::vector<TensorId>> ExpandBlockMove(const Node& node, GraphBuilder* builder,
                                                      BlockDirection direction);

// Attribute `mode` came with `mode_opset`; before it DCR is the only one.
absl::Status LowerBlockMove(VersionedNode* node, int mode_opset);

// OpSpec::expands_at_import: nothing without elements, whose shape a Reshape could not say.
bool HasElements(const OpCall& call);

}  // namespace plait
