#pragma once

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "optimizer/ir/graph.h"

namespace plait {

// The outputs of a node that are known before the model runs, because it reads constants only or
// asks for a static shape; nullopt when it must stay a node. Small results of small work are
// computed, large ones become expressions (Constant::Apply) that are computed when the model is
// materialized.
// REQUIRES: `output_types` are what InferTypes says about the node, whose inputs are `builder`'s.
std::optional<std::vector<ConstantRef>> FoldNode(const GraphBuilder& builder, const Node& node,
                                                 absl::Span<const TensorType> output_types);

}  // namespace plait
