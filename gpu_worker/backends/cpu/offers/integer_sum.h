#pragma once

#include <optional>
#include <vector>

#include "gpu_worker/backends/cpu/offers/integer_bounds.h"
#include "gpu_worker/backends/groups/integer_checks.h"

namespace plait {

// A residual connection of a quantized model: the integers that a QLinearConv gives and others of
// the same shape, both dequantized, are added up and quantized again, perhaps behind a Relu or
// Clip.
struct IntegerSum {
  std::vector<NodeId> nodes;  // ascending, the convolution among them
  NodeId root = kNoNode;      // the convolution
  TensorId addend = kNoTensor;
  TensorId result = kNoTensor;
  Quantization root_by;  // known constants
  Quantization addend_by;
  Quantization result_by;
  IntegerLimits limits;  // of the result
};

// nullopt when something else follows, or others read what lies between. Pure and thread-safe.
std::optional<IntegerSum> SumBehind(const Graph& graph, NodeId root);

// The sums whose first node is `node`: a convolution, or what dequantizes the other integers.
std::vector<IntegerSum> SumsFrom(const Graph& graph, NodeId node);

// Reads the nodes of a kernel as such a sum. nullopt when they are anything else.
std::optional<IntegerSum> ParseSum(const Graph& graph, const std::vector<NodeId>& nodes);

}  // namespace plait
