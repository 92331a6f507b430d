#pragma once

#include <optional>

#include "optimizer/ir/graph.h"

namespace plait::cuda {

// x * scale[c] + shift[c].
struct ScaleShiftConstants {
  ConstantRef scale;  // one element for each channel
  ConstantRef shift;
};

// A BatchNormalization of constant statistics as such: scale / sqrt(variance + epsilon) and what is
// left over, as expressions that are computed when a plan is loaded. nullopt: the node is none.
// Pure and thread-safe.
std::optional<ScaleShiftConstants> NormalizationAt(const Graph& graph, NodeId node);

}  // namespace plait::cuda
