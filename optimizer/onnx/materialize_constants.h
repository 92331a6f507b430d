#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "optimizer/ir/graph.h"

namespace plait {

// A graph without expressions, and the bytes of all its weights.
struct Materialized {
  Graph graph;
  std::shared_ptr<const WeightSource> weights;
};

// Computes every constant expression of a graph: the result has inline constants and weights only,
// so that its text form together with the exported file is all that a runtime needs. Weights that
// are no expressions are copied by reference: `weights` must outlive the result.
// Errors: those of EvaluateConstant, with the constant's name in front.
absl::StatusOr<Materialized> MaterializeConstants(const Graph& graph, const WeightSource& weights);

}  // namespace plait
