#pragma once

#include <optional>
#include <vector>

#include "optimizer/ir/graph.h"

namespace plait {

// Where a product ends and which nodes compute it.
struct HalfProduct {
  TensorId result;
  std::vector<NodeId> nodes;
};

// Finds 0.5 * x * (1 + t) downstream of `t`, in whichever order an exporter multiplies.
std::optional<HalfProduct> FindHalfProduct(const Graph& graph, TensorId t, TensorId x);

// When `tensor` is x * factor (or factor * x, or x / (1 / factor)) with a scalar constant: x.
std::optional<TensorId> ScaledBy(const Graph& graph, TensorId tensor, double factor);

}  // namespace plait
