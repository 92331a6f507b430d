#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "optimizer/ops/shared/op_spec.h"

// Reference evaluation: what a graph computes, by the definition of its operators. Slow, exact, and
// the same on every machine. Thread rule: any thread; a call uses one.
namespace plait {

// Runs one node by its reference evaluation and rounds the results to their dtypes.
// `inputs`: nullptr for omitted ones.
// Errors: Unimplemented for opaque nodes.
absl::StatusOr<std::vector<Tensor>> EvaluateNode(const Graph& graph, NodeId node,
                                                 absl::Span<const Tensor* const> inputs);

// The value of a constant expression.
// Errors: NotFound for a weight that `weights` lacks; ResourceExhausted beyond kFoldedBytesMax.
absl::StatusOr<Tensor> EvaluateConstant(const Constant& constant, const WeightSource& weights);

// Runs a whole graph: the oracle that every backend is compared with. Slow and exact.
// Errors: InvalidArgument when an input's type differs; Unimplemented for opaque nodes.
absl::StatusOr<std::vector<Tensor>> EvaluateGraph(const Graph& graph,
                                                  absl::Span<const Tensor> inputs,
                                                  const WeightSource& weights);

// The same in GF(p), for rule proofs: `inputs` hold field elements for float tensors.
// Errors: Unimplemented when an operator has no meaning in GF(p).
absl::StatusOr<std::vector<EvalTensor>> EvaluateGraphInField(const Graph& graph,
                                                             absl::Span<const EvalTensor> inputs,
                                                             const WeightSource& weights);

// The same in doubles that are never rounded to the declared dtypes, for proofs that two graphs are
// one function, wherever each would round: only their constants are as precise as their dtypes.
// Errors: as EvaluateGraph.
absl::StatusOr<std::vector<EvalTensor>> EvaluateGraphUnrounded(const Graph& graph,
                                                               absl::Span<const EvalTensor> inputs,
                                                               const WeightSource& weights);

// A WeightSource without weights, for graphs whose constants are inline or synthetic.
const WeightSource& NoWeights();

}  // namespace plait
