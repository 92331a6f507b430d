#pragma once

#include <cmath>
#include <functional>
#include <limits>

#include "base/status_macros.h"
#include "optimizer/ops/shared/elementwise.h"
#include "optimizer/ops/shared/reduction.h"

// What largest and smallest elements share. `Better` is std::greater<> for Max and ReduceMax,
// std::less<> for Min and ReduceMin. A NaN stays once it is met, as in numpy. A field has no order,
// so in GF(p) an extreme means nothing.
namespace plait {

// OpSpec::evaluate of Max and Min: the best of all inputs, element by element with broadcasting.
template <typename Better>
absl::Status EvaluateExtreme(const OpCall&, EvalInputs inputs, EvalOutputs outputs) {
  // b != b holds for a NaN alone. Nothing is better than a NaN in `a`, which stays.
  return EvaluateFold(inputs, outputs, [](EvalInputs pair, EvalOutputs result) {
    return EvaluateNumberBinary(pair, result,
                                [](auto a, auto b) { return Better{}(b, a) || b != b ? b : a; });
  });
}

// What nothing is better than: the extreme of no elements, and where a reduction starts.
template <typename Better, typename T>
constexpr T WorstOf() {
  using Limits = std::numeric_limits<T>;
  const T low = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  const T high = Limits::has_infinity ? Limits::infinity() : Limits::max();
  return Better{}(high, low) ? low : high;
}

// OpSpec::infer of ReduceMax and ReduceMin.
// Errors: as InferReduce; Unimplemented for no integers at all, because narrow integers have other
// bounds than the int64 that they are held in.
Types InferReduceExtreme(const OpCall& call);

// OpSpec::evaluate of ReduceMax and ReduceMin. Bools are ordered as 0 and 1: the largest is their
// Or, the smallest their And (since opset 20).
template <typename Better>
absl::Status EvaluateReduceExtreme(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  PLAIT_ASSIGN_OR_RETURN(const Reduction reduction, ReductionOf(call));
  if (auto* floats = std::get_if<std::vector<double>>(&outputs[0].values)) {
    const auto combine = [](double a, double b) { return Better{}(a, b) || std::isnan(a) ? a : b; };
    Reduce(reduction, *inputs[0], WorstOf<Better, double>(), combine, floats);
  } else if (auto* integers = std::get_if<std::vector<int64_t>>(&outputs[0].values)) {
    const bool is_unsigned = outputs[0].type.dtype == DataType::kUint64;
    const auto combine = [is_unsigned](int64_t a, int64_t b) {
      const bool is_better = is_unsigned ? Better{}(uint64_t(a), uint64_t(b)) : Better{}(a, b);
      return is_better ? a : b;
    };
    const int64_t worst = is_unsigned ? static_cast<int64_t>(WorstOf<Better, uint64_t>())
                                      : WorstOf<Better, int64_t>();
    Reduce(reduction, *inputs[0], worst, combine, integers);
  } else {
    return absl::UnimplementedError("a field has no order");
  }
  return absl::OkStatus();
}

}  // namespace plait
