#include "optimizer/ops/shared/movement.h"

namespace plait {

// `start` and the distances are in elements of the input; distances may be 0 or negative.
void CopyStrided(const EvalTensor& input, int64_t start, const Shape& shape, const Shape& strides,
                 EvalTensor* output) {
  MoveElements(input, output, [&](const auto& from, auto& to) {
    ForEachIndex(
        shape, std::array<Shape, 1>{strides},
        [&](int64_t index, const std::array<int64_t, 1>& at) { to[index] = from[start + at[0]]; });
  });
}

absl::Status EvaluateView(const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
  outputs[0].values = inputs[0]->values;
  return absl::OkStatus();
}

Work NoWork(const OpCall&, absl::Span<const TensorType>) { return Work{}; }

// Not DefaultWork's bytes: of a large input only what is taken is read.
Work MovementWork(const OpCall& call, absl::Span<const TensorType> output_types) {
  Work work = FillWork(call, output_types);
  work.bytes *= 2;
  return work;
}

Work FillWork(const OpCall&, absl::Span<const TensorType> output_types) {
  Work work;
  for (const TensorType& type : output_types) work.bytes += type.bytes();
  return work;
}

}  // namespace plait
