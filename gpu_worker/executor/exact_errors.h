#pragma once

#include <vector>

#include "absl/types/span.h"
#include "optimizer/cost/equivalence.h"
#include "optimizer/ir/tensor.h"
#include "optimizer/ops/shared/eval_tensor.h"

namespace plait {

// How far outputs are from exact ones (EvaluateGraphUnrounded), over several inputs. Errors are
// defined as those of Equivalence, with the exact output for the original. Not thread-safe.
class ExactErrors {
 public:
  // The outputs for one input. REQUIRES: all calls have as many outputs, those of both sides of
  // equal shapes, and hold numbers.
  void Add(absl::Span<const EvalTensor> exact, absl::Span<const Tensor> outputs);

  // Of each output the worst input. Infinite where a NaN or an infinity stands on one side only,
  // and for integers and bools that differ.
  const std::vector<OutputError>& outputs() const { return outputs_; }

 private:
  std::vector<OutputError> outputs_;
};

// What `candidate` loses beside what `original` loses: the largest quotient of their outputs'
// rms_error. Outputs that both have exactly do not count; 1 when none does.
// REQUIRES: as many outputs.
double RmsRatio(absl::Span<const OutputError> original, absl::Span<const OutputError> candidate);

// The same of their max_abs_error, too: what is wrong in one place is not hidden by the others.
double ExactRatio(absl::Span<const OutputError> original, absl::Span<const OutputError> candidate);

}  // namespace plait
