#pragma once

#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/broadcast.h"
#include "optimizer/ops/shared/elementwise.h"

// What ArgMax and ArgMin share: where along an axis the extreme stands. `Better` is std::greater<>
// for ArgMax, std::less<> for ArgMin. A NaN is better than everything, as in numpy.
namespace plait {

// OpSpec::infer. Errors: InvalidArgument for an axis out of range or without elements, and for
// elements that are no numbers.
Types InferArgExtreme(const OpCall& call);

// OpSpec::lower: opset 12 brought select_last_index, 11 negative axes.
absl::Status LowerArgExtreme(VersionedNode* node);

// Whether `b` takes the place of `a`, which stands before it.
template <typename Better, typename Number>
bool Replaces(Number b, Number a, bool select_last) {
  if (a != a) return select_last && b != b;
  return Better{}(b, a) || b != b || (select_last && b == a);
}

template <typename Better, typename Number, typename Value>
void FindExtremes(const std::vector<Value>& x, const Shape& shape, int axis, bool select_last,
                  std::vector<int64_t>* y) {
  const int64_t count = shape[axis];
  const int64_t step = RowMajorStrides(shape)[axis];
  for (size_t line = 0; line < y->size(); ++line) {
    const auto row = static_cast<int64_t>(line);
    const int64_t first = row / step * count * step + row % step;
    int64_t best = 0;
    for (int64_t i = 1; i < count; ++i) {
      const auto value = static_cast<Number>(x[first + i * step]);
      const auto other = static_cast<Number>(x[first + best * step]);
      if (Replaces<Better, Number>(value, other, select_last)) best = i;
    }
    (*y)[line] = best;
  }
}

// OpSpec::evaluate. Errors: Unimplemented in GF(p).
template <typename Better>
absl::Status EvaluateArgExtreme(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  PLAIT_ASSIGN_OR_RETURN(const int axis, AxisOfInput(call, "axis", 0));
  const bool select_last = call.attributes.Int("select_last_index", 0) != 0;
  auto* y = &std::get<std::vector<int64_t>>(outputs[0].values);
  const EvalTensor& x = *inputs[0];
  const Shape& shape = x.type.shape;
  if (const auto* floats = std::get_if<std::vector<double>>(&x.values)) {
    FindExtremes<Better, double>(*floats, shape, axis, select_last, y);
    return absl::OkStatus();
  }
  const auto* integers = std::get_if<std::vector<int64_t>>(&x.values);
  if (integers == nullptr) return NoMeaningInField();
  if (x.type.dtype == DataType::kUint64) {
    FindExtremes<Better, uint64_t>(*integers, shape, axis, select_last, y);
  } else {
    FindExtremes<Better, int64_t>(*integers, shape, axis, select_last, y);
  }
  return absl::OkStatus();
}

}  // namespace plait
