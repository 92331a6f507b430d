#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "optimizer/ir/graph.h"

namespace plait {

// Within which the integers of a result are kept.
struct IntegerLimits {
  int32_t lowest = std::numeric_limits<int32_t>::min();
  int32_t highest = std::numeric_limits<int32_t>::max();
};

// The node that alone reads the only output of `node`; kNoNode when there is none.
NodeId OnlyReader(const Graph& graph, NodeId node);

// The DequantizeLinear that alone reads what a QLinearConv or QLinearMatMul gives, and has its
// scale and zero point, known constants; kNoNode when there is none.
NodeId DequantizeBehind(const Graph& graph, NodeId root);

// What a Relu or Clip in front of a QuantizeLinear keeps the integers within; nullopt where that is
// not known.
// REQUIRES: HasKnownQuantization of the QuantizeLinear.
std::optional<IntegerLimits> LimitsOf(const Graph& graph, NodeId bound, NodeId quantize);

// A Relu or Clip of the integers that a QLinearConv or QLinearMatMul gives, as three nodes behind
// it: DequantizeLinear and QuantizeLinear have the scale and zero point of those integers.
struct IntegerBounds {
  std::vector<NodeId> nodes;  // ascending
  TensorId result = kNoTensor;
  IntegerLimits limits;
};

// nullopt when something else follows, or others read what lies between. Pure and thread-safe.
std::optional<IntegerBounds> BoundsBehind(const Graph& graph, NodeId root);

// Reads the nodes of a kernel as such a root and, where there are more, its bounds, whose limits
// are none otherwise. nullopt when they are anything else.
std::optional<IntegerBounds> ParseBounds(const Graph& graph, const std::vector<NodeId>& nodes);

// FamilyOffer::grow of a family that applies bounds behind every node that it runs alone.
template <bool (*runs)(const Graph& graph, NodeId node)>
std::vector<std::vector<NodeId>> GrowBounds(const Graph& graph, NodeId node) {
  if (!runs(graph, node)) return {};
  const std::optional<IntegerBounds> bounds = BoundsBehind(graph, node);
  if (!bounds) return {};
  return {{node, bounds->nodes[0], bounds->nodes[1], bounds->nodes[2]}};
}

}  // namespace plait
