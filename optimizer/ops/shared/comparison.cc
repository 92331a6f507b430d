#include "optimizer/ops/shared/comparison.h"

#include "optimizer/ops/shared/expansion.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {

absl::Status LowerOrder(VersionedNode* node) {
  if (node->opset < 9 && IsInteger(node->input_types[0].dtype)) {
    return NeedsOpset("an order of integers", 9);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TensorId>> ExpandOrEqual(const Node& node, OpKind strict,
                                                    GraphBuilder* builder) {
  const std::vector<TensorId> operands(node.inputs.begin(), node.inputs.end());
  Expansion expansion(builder);
  const TensorId strictly = expansion.Add(strict, operands);
  const TensorId equal = expansion.Add(OpKind::kEqual, operands);
  return expansion.Outputs({expansion.Add(OpKind::kOr, {strictly, equal})});
}

}  // namespace plait
