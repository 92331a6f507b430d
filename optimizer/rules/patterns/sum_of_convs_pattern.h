#pragma once

#include <optional>

#include "optimizer/rules/patterns/conv_view.h"

namespace plait {

// The two convolutions that an Add adds, both read by it alone.
struct ConvPair {
  NodeId first_node;
  NodeId second_node;
  ConvView first;
  ConvView second;
};
std::optional<ConvPair> ReadSumOfConvs(const Graph& graph, NodeId add);

// The sum of both biases; null when neither has one.
ConstantRef SumOfBiases(RewriteBuilder* builder, const ConvPair& pair);

}  // namespace plait
