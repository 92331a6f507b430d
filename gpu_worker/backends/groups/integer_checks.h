#pragma once

#include "optimizer/ir/graph.h"

namespace plait {

// What the families of integers of 8 bits ask of a node. Pure and thread-safe.

bool IsByte(DataType dtype);     // uint8 or int8
bool IsQuantization(OpKind op);  // QuantizeLinear or DequantizeLinear

// One scale and zero point of a QuantizeLinear or DequantizeLinear.
struct Quantization {
  float scale = 1;
  float zero_point = 0;
  float lowest = 0;  // of the bytes less the zero point; the highest is 255 more
};

// Whether they are known constants, and the node is between bytes and float32.
bool HasKnownQuantization(const Graph& graph, const Node& node);

// REQUIRES: HasKnownQuantization.
Quantization QuantizationOf(const Graph& graph, const Node& node);

// Whether input `index` is omitted or has one element.
bool HasAtMostOne(const Graph& graph, const Node& node, size_t index);

// The same, or a vector of `count` elements.
bool HasOneOrEach(const Graph& graph, const Node& node, size_t index, int64_t count);

// Whether the input is omitted or a constant.
bool IsConstantOrOmitted(const Graph& graph, const Node& node, size_t index);

}  // namespace plait
