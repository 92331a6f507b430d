#pragma once

#include <optional>

#include "optimizer/ir/graph.h"

namespace plait {

// x with a constant for each column (or one for all), which a product with a constant matrix reads.
struct ConstantBeforeProduct {
  TensorId x;
  TensorId constant;  // one element, or as many as x has columns
  NodeId product;     // MatMul, or Gemm that does not transpose x
  bool transposes_w;  // the matrix of a Gemm
};

// nullopt unless the node combines a constant with x so, without changing its type, and one float32
// product alone reads the result.
std::optional<ConstantBeforeProduct> ReadConstantBeforeProduct(const Graph& graph, NodeId node);

}  // namespace plait
