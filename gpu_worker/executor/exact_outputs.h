#pragma once

#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "optimizer/ir/constant.h"
#include "optimizer/ir/graph.h"
#include "optimizer/ops/shared/eval_tensor.h"

namespace plait {

// What a graph computes without rounding (EvaluateGraphUnrounded) on some inputs, once on each.
// Not thread-safe.
class ExactOutputs {
 public:
  // Both must outlive it.
  ExactOutputs(const Graph& graph, const WeightSource& weights)
      : graph_(graph), weights_(weights) {}

  // Whether evaluating the graph on so many inputs takes some seconds and no more, and no more than
  // some hundred megabytes.
  bool AreAffordable(size_t inputs) const;

  // Those on `inputs`, which have the number `index`. Valid as long as this is.
  // Errors: as EvaluateGraphUnrounded.
  absl::StatusOr<const std::vector<EvalTensor>*> On(size_t index, absl::Span<const Tensor> inputs);

 private:
  const Graph& graph_;
  const WeightSource& weights_;
  std::map<size_t, std::vector<EvalTensor>> outputs_;
};

}  // namespace plait
