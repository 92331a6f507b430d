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

// Reads the node: fp32, constant weights. nullopt: the node is anything else. Pure.
std::optional<RnnLayer> RnnLayerAt(const Graph& graph, NodeId node);

// Of a step of one direction.
int64_t StepFlops(const RnnLayer& layer);

// Whether a step is enough work for threads that meet in it, as those do that divide its columns.
bool MeetsInSteps(const RnnLayer& layer);

// Whether two threads take a direction each instead: of a layer that walks both ways in steps of
// less. Pure, as are the others.
bool DividesDirections(const RnnLayer& layer);

}  // namespace plait
