#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "optimizer/ops/shared/op_spec.h"

// Evaluation of one operator or expression, below graphs: what evaluate.h is made of.
namespace plait {

// Which numbers a float tensor holds under evaluation: reals that are rounded to the declared
// dtype, reals as precise as a double, or field elements.
enum class Numbers { kReal, kUnrounded, kField };

// One application of an operator, free of any graph.
struct OperatorUse {
  OpKind op;
  const Attributes& attributes;
  absl::Span<const Tensor* const> constants;  // as in OpCall
  int output_count = 1;
};

// Infers, evaluates and rounds to the inferred dtypes, as `numbers` says. `inputs`: nullptr for
// omitted ones. Safe for any operator and inputs, which a model may have chosen: nothing is
// allocated before it is checked. Errors: those of InferTypes and OpSpec::evaluate, with the
// operator's name in front; ResourceExhausted beyond kEvaluatedElementsMax.
absl::StatusOr<std::vector<EvalTensor>> RunOperator(const OperatorUse& use, EvalInputs inputs,
                                                    Numbers numbers);

// The value of a constant expression, as EvaluateConstant but in either kind of numbers.
absl::StatusOr<EvalTensor> RunConstant(const Constant& constant, const WeightSource& weights,
                                       Numbers numbers);

}  // namespace plait
