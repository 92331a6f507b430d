#include "gpu_worker/executor/exact_errors.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <variant>

#include "base/status_macros.h"

namespace plait {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

bool IsSame(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

OutputError ErrorOf(absl::Span<const double> exact, absl::Span<const double> output) {
  double largest = 0;
  double largest_error = 0;
  double squares = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    if (IsSame(exact[i], output[i])) {
      if (std::isfinite(exact[i])) largest = std::max(largest, std::abs(exact[i]));
      continue;
    }
    if (!std::isfinite(exact[i]) || !std::isfinite(output[i])) {
      return {kUnbounded, kUnbounded, kUnbounded};
    }
    const double error = std::abs(exact[i] - output[i]);
    largest = std::max(largest, std::abs(exact[i]));
    largest_error = std::max(largest_error, error);
    squares += error * error;
  }
  if (largest_error == 0) return {};
  return {largest_error, largest == 0 ? kUnbounded : largest_error / largest,
          std::sqrt(squares / static_cast<double>(exact.size()))};
}

OutputError ErrorOf(const EvalTensor& exact, const EvalTensor& output) {
  if (const auto* integers = std::get_if<std::vector<int64_t>>(&exact.values)) {
    const auto* others = std::get_if<std::vector<int64_t>>(&output.values);
    const bool is_equal = others != nullptr && *integers == *others;
    return is_equal ? OutputError() : OutputError{kUnbounded, kUnbounded, kUnbounded};
  }
  const auto* doubles = std::get_if<std::vector<double>>(&exact.values);
  const auto* others = std::get_if<std::vector<double>>(&output.values);
  PLAIT_CHECK(doubles != nullptr && others != nullptr && doubles->size() == others->size());
  return ErrorOf(*doubles, *others);
}

// The largest quotient of one of the errors of each output.
double RatioOf(double OutputError::*error, absl::Span<const OutputError> original,
               absl::Span<const OutputError> candidate) {
  PLAIT_CHECK(original.size() == candidate.size());
  double ratio = 0;
  for (size_t i = 0; i < original.size(); ++i) {
    const double lost = candidate[i].*error;
    const double usual = original[i].*error;
    if (lost == 0) continue;
    if (usual == 0 || std::isinf(lost)) return kUnbounded;
    ratio = std::max(ratio, lost / usual);
  }
  return ratio == 0 ? 1 : ratio;
}

}  // namespace

void ExactErrors::Add(absl::Span<const EvalTensor> exact, absl::Span<const Tensor> outputs) {
  PLAIT_CHECK(exact.size() == outputs.size());
  outputs_.resize(exact.size());
  for (size_t i = 0; i < exact.size(); ++i) {
    const OutputError error = ErrorOf(exact[i], ToEvalTensor(outputs[i]));
    OutputError& worst = outputs_[i];
    worst.max_abs_error = std::max(worst.max_abs_error, error.max_abs_error);
    worst.max_rel_error = std::max(worst.max_rel_error, error.max_rel_error);
    worst.rms_error = std::max(worst.rms_error, error.rms_error);
  }
}

double RmsRatio(absl::Span<const OutputError> original, absl::Span<const OutputError> candidate) {
  return RatioOf(&OutputError::rms_error, original, candidate);
}

double ExactRatio(absl::Span<const OutputError> original, absl::Span<const OutputError> candidate) {
  return std::max(RmsRatio(original, candidate),
                  RatioOf(&OutputError::max_abs_error, original, candidate));
}

}  // namespace plait
