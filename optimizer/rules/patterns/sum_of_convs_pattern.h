#pragma once

#include <optional>

#include "optimizer/rules/patterns/conv_view.h"

namespace plait {

// The two convolutions that an Add adds, both read by it alone, with one group, equal attributes
// and equal kernel sizes: so that one convolution can compute the sum. The inputs may differ. Tells
// what is in the way where two convolutions are added.
struct ConvPair {
  ConvView first;
  ConvView second;
};
std::optional<ConvPair> ReadSumOfConvs(const Graph& graph, NodeId add, Misses misses = {});

// The sum of both biases; kNoTensor when neither has one.
TensorId SumOfBiases(RewriteBuilder* builder, const ConvPair& pair);

}  // namespace plait
