#pragma once

#include <array>
#include <utility>
#include <vector>

#include "optimizer/ops/shared/broadcast.h"
#include "optimizer/ops/shared/op_spec.h"

// What operators share that move elements and compute none. They treat every number type alike, and
// are exact in GF(p).
namespace plait {

// Calls move(from, to) with the elements of `input` and a zeroed vector of the same number type
// that has as many elements as `output`, which is the output's value then. REQUIRES: `output` is as
// ZeroEvalTensor made it, or of another number type.
template <typename Move>
void MoveElements(const EvalTensor& input, EvalTensor* output, Move move) {
  std::visit(
      [&](const auto& from) {
        using Values = std::decay_t<decltype(from)>;
        if (!std::holds_alternative<Values>(output->values)) {
          output->values = Values(static_cast<size_t>(output->type.elements()));
        }
        move(from, std::get<Values>(output->values));
      },
      input.values);
}

// output[c] = input[start + c . strides] for every coordinate c of the output, whose shape is read
// as `shape` (an equal number of elements). Strides may be 0 (repeated elements) or negative
// (reversed ones). Transpose, Slice, Expand, Tile and Split are no more than this.
void CopyStrided(const EvalTensor& input, int64_t start, const Shape& shape, const Shape& strides,
                 EvalTensor* output);

// outputs[0] has the elements of inputs[0], in the same order: every view.
absl::Status EvaluateView(const OpCall& call, EvalInputs inputs, EvalOutputs outputs);

// The kinds of OpSpec::work, none of which has a flop.
// Nothing: a view, or a value that depends on types alone.
Work NoWork(const OpCall& call, absl::Span<const TensorType> output_types);

// Every output element read once and written once.
Work MovementWork(const OpCall& call, absl::Span<const TensorType> output_types);

// Every output element written once.
Work FillWork(const OpCall& call, absl::Span<const TensorType> output_types);

}  // namespace plait
