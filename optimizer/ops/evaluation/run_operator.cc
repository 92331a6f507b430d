#include "optimizer/ops/evaluation/run_operator.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"

namespace plait {

absl::StatusOr<std::vector<EvalTensor>> RunOperator(const OperatorUse& use, EvalInputs inputs,
                                                    Numbers numbers) {
  std::vector<TensorType> input_types;
  for (const EvalTensor* input : inputs) {
    input_types.push_back(input == nullptr ? TensorType{} : input->type);
  }
  PLAIT_ASSIGN_OR_RETURN(
      const std::vector<TensorType> output_types,
      InferTypes(use.op, use.attributes, input_types, use.constants, use.output_count));
  std::vector<EvalTensor> outputs;
  for (const TensorType& type : output_types) {
    if (type.elements() > kEvaluatedElementsMax) {
      return absl::ResourceExhaustedError(
          absl::StrCat(OpKindName(use.op), ": output ", type.ToString(), " has more than ",
                       kEvaluatedElementsMax, " elements, the limit of reference evaluation"));
    }
    outputs.push_back(ZeroEvalTensor(type, numbers == Numbers::kField));
  }
  // Extents beside a zero may be huge: an operator must not loop over them for nothing.
  const bool empty = std::all_of(output_types.begin(), output_types.end(),
                                 [](const TensorType& type) { return type.elements() == 0; });
  if (empty) return outputs;
  const OpCall call{use.attributes, input_types, use.constants, use.output_count};
  const absl::Status status = SpecOf(use.op).evaluate(call, inputs, absl::MakeSpan(outputs));
  if (!status.ok()) return Annotate(status, OpKindName(use.op));
  for (EvalTensor& output : outputs) {
    if (numbers == Numbers::kUnrounded && IsFloat(output.type.dtype)) continue;
    RoundToType(&output);
  }
  return outputs;
}

}  // namespace plait
