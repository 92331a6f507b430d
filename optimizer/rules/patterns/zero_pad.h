#pragma once

#include <optional>
#include <vector>

#include "optimizer/ir/graph.h"
#include "optimizer/rules/patterns/misses.h"

namespace plait {

// What a node reads once it pads by itself, in the place of a Pad before it.
struct TakenPad {
  TensorId x;                 // what the Pad reads
  std::vector<int64_t> pads;  // the node's own and the Pad's: top, left, bottom, right
};

// The Pad at input 0 of `node` when it surrounds images with zeros and every one of its readers can
// pad so by itself, so that it goes when each has taken it; nullopt otherwise.
std::optional<TakenPad> TakePad(const Graph& graph, NodeId node, Misses misses = {});

}  // namespace plait
