#pragma once

#include <optional>
#include <vector>

#include "optimizer/rules/laws/bind_law.h"
#include "optimizer/rules/patterns/rewrite_builder.h"

namespace plait {

// Convolutions of models have a bias, and those of laws have none. Where all that lies between
// them and the source's outputs is linear, the outputs are those of the law and a constant per
// channel each; and the target's convolutions can have it again.
//
// Conv(x, w, b) + Conv(y, v, c): the sum's bias is b + c, which Conv(Concat(x, y), Concat(w, v))
// takes along.

// By output of the source: a constant of as many elements as there are channels, or kNoTensor for
// none. nullopt where a bias meets what is not linear, or differs along a batch.
std::optional<std::vector<TensorId>> BiasesOfOutputs(const LawPattern& pattern, const Graph& graph,
                                                     const LawBinding& binding,
                                                     RewriteBuilder* builder);

// Who adds the biases of the target's outputs.
struct PlacedBiases {
  std::vector<TensorId> of_nodes;    // by node of the target: of a Conv; else kNoTensor
  std::vector<TensorId> of_outputs;  // what has to be added to an output; else kNoTensor
};

// Convolutions that nothing but the output reads, or a sum, or a Split along the channels, take
// the biases along. `channels`: by output.
PlacedBiases PlaceBiases(const Graph& target, absl::Span<const TensorId> biases,
                         absl::Span<const int64_t> channels, RewriteBuilder* builder);

}  // namespace plait
