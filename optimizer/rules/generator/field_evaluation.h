#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "optimizer/ir/graph.h"
#include "optimizer/ops/evaluation/run_operator.h"
#include "optimizer/ops/shared/eval_tensor.h"

namespace plait {

// Runs a graph in GF(p), further than EvaluateGraphInField does:
//   - an elementwise operator of one input that has no meaning there, such as Relu or Erf, is an
//     unknown function: each element becomes some fixed element that depends on the operator, its
//     attributes, further inputs and the element. Two graphs that agree so agree for every
//     function, and so for the real one; a law of Relu alone, such as Relu(Relu(x)) = Relu(x), is
//     refuted;
//   - BatchNormalization, LayerNormalization, Swish and integer powers are spelled out in operators
//     of which that is true or that have a meaning.
// Errors: Unimplemented for what else has no meaning there.
absl::StatusOr<std::vector<EvalTensor>> EvaluateWithUnknownFunctions(
    const Graph& graph, const std::vector<EvalTensor>& inputs);

// One operator in GF(p), an unknown function where it is one above. Errors: as RunOperator.
absl::StatusOr<std::vector<EvalTensor>> RunWithUnknownFunction(const OperatorUse& use,
                                                               EvalInputs inputs);

}  // namespace plait
