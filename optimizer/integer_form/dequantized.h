#pragma once

#include <optional>
#include <vector>

#include "optimizer/rules/patterns/rewrite_builder.h"

namespace plait {

// What a DequantizeLinear to float32 reads, whose scale and zero point are constants: one for all,
// or one for each index along an axis. Where the integers are constant too, it is an expression.
struct Dequantized {
  TensorId integers = kNoTensor;  // kNoTensor: `constant`
  ConstantRef constant;           // null: `integers`
  TensorType type;                // of the integers
  ConstantRef scale;
  ConstantRef zero_point;  // null: 0
  int axis = 0;            // counted from the first

  bool has_one_scale() const { return scale->type().elements() == 1; }
};

// Input `index` of the node; nullopt when it is anything else.
std::optional<Dequantized> DequantizedInput(const Graph& graph, NodeId node, int index);

// The parts as inputs of a new node, as operators on integers have them.
TensorId IntegersOf(const Dequantized& input, RewriteBuilder* builder);
TensorId ScaleOf(const Dequantized& input, RewriteBuilder* builder);
TensorId ZeroPointOf(const Dequantized& input, RewriteBuilder* builder);

// The values of scales that are inline; nullopt where they are not (more than 256 of them).
std::optional<std::vector<double>> ScalesOf(const ConstantRef& scale);

}  // namespace plait
