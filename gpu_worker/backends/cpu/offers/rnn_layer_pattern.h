#pragma once

#include <optional>

#include "optimizer/ir/graph.h"
#include "optimizer/ops/shared/recurrent_layer.h"

namespace plait {

// An RNN, GRU or LSTM node that the family `rnn_layer` runs.
struct RnnLayer {
  RecurrentKind kind;
  RecurrentLayer layer;
};

// Reads the node: fp32, constant weights, all sequences as long as X, activations that there are
// loops for. nullopt: the node is anything else. Pure.
std::optional<RnnLayer> RnnLayerAt(const Graph& graph, NodeId node);

// Whether threads take a direction each instead of columns of both, which has them meet once or
// twice in every step: of a layer that walks both ways and is so small that a thread's own cache
// holds a direction's matrices. Pure.
bool DividesDirections(const RnnLayer& layer);

}  // namespace plait
