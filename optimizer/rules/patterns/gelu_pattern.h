#pragma once

#include <optional>

#include "optimizer/ir/graph.h"

namespace plait {

// What the two ways to write GELU have in common: x * Phi(x) with Phi(x) = 0.5 * (1 + t), where t
// is an Erf or a Tanh of x. Exporters write it as four to eight nodes, in various orders.

// The last node of 0.5 * x * (1 + t), in whichever order an exporter multiplies; kNoNode when `t`
// does not lead to one, or something else reads a step in between.
NodeId FindHalfProduct(const Graph& graph, TensorId t, TensorId x);

// When `tensor` is x * factor (or factor * x, or x / (1 / factor)) with a scalar constant: x.
std::optional<TensorId> ScaledBy(const Graph& graph, TensorId tensor, double factor);

}  // namespace plait
