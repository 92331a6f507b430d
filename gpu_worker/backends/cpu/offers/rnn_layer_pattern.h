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

}  // namespace plait
