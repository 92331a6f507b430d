#include "gpu_worker/backends/cuda/problem/difference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <variant>

namespace plait::cuda {
namespace {

// The errors of one output: of those elements of `reference` that are its.
Difference CompareOutput(const std::vector<ReferenceElement>& reference, int output,
                         const std::vector<float>& values, Precision precision) {
  // The largest half; for the other types, just below the largest float.
  const double largest = precision == Precision::kFp16 ? 65504.0 : 3.38e38;
  double error = 0, norm = 0;
  int64_t count = 0;
  for (const ReferenceElement& element : reference) {
    if (element.output != output || std::fabs(element.value) >= largest) continue;
    norm += element.value * element.value;
    ++count;
  }
  const double rms = std::sqrt(norm / static_cast<double>(std::max<int64_t>(count, 1)));
  Difference difference;
  for (const ReferenceElement& element : reference) {
    if (element.output != output) continue;
    const double value = values[element.offset];
    double delta = value - element.value;
    // A value beyond the storage's range cannot be compared: it has to have the right sign and be
    // as large as the type allows, else the error is infinite.
    if (std::fabs(element.value) >= largest) {
      const bool right = value * element.value > 0 && std::fabs(value) >= largest;
      delta = right ? 0 : HUGE_VAL;
    }
    // Else the largest of some numbers and NaN would be the numbers'.
    if (std::isnan(delta)) delta = HUGE_VAL;
    error += delta * delta;
    const double scale = std::fmax(std::fmax(rms, std::fabs(element.value)), 1e-30);
    difference.largest = std::fmax(difference.largest, std::fabs(delta) / scale);
  }
  difference.relative_l2 = std::sqrt(error) / std::fmax(std::sqrt(norm), 1e-30);
  return difference;
}

// A softmax or a depthwise result between two products is rounded for the second one.
bool HasTwoProducts(const Problem& problem) {
  return std::holds_alternative<AttentionProblem>(problem) ||
         std::holds_alternative<SeparableConvProblem>(problem);
}

}  // namespace

Difference Compare(const std::vector<ReferenceElement>& reference,
                   const std::vector<std::vector<float>>& outputs, Precision precision) {
  Difference difference;
  for (size_t o = 0; o < outputs.size(); ++o) {
    for (float value : outputs[o]) difference.not_numbers += std::isnan(value);
    const Difference own = CompareOutput(reference, static_cast<int>(o), outputs[o], precision);
    difference.relative_l2 = std::fmax(difference.relative_l2, own.relative_l2);
    difference.largest = std::fmax(difference.largest, own.largest);
  }
  return difference;
}

double RelativeL2Max(Precision precision) {
  static constexpr std::array<double, 4> kMax = {1e-5, 1e-3, 1e-2, 3e-2};
  return kMax[static_cast<int>(precision)];
}

double RelativeL2Max(const Problem& problem, Precision precision) {
  const bool twice = precision == Precision::kTf32 && HasTwoProducts(problem);
  return RelativeL2Max(precision) * (twice ? 2 : 1);
}

// 10: errors that are rounding have deviations below the limit of L2, and no element of some
// millions is further off than six of them.
double LargestErrorMax(const Problem& problem, Precision precision) {
  return 10 * RelativeL2Max(problem, precision);
}

bool Passes(const Difference& difference, const Problem& problem, Precision precision) {
  return difference.not_numbers == 0 &&
         difference.relative_l2 <= RelativeL2Max(problem, precision) &&
         difference.largest <= LargestErrorMax(problem, precision);
}

}  // namespace plait::cuda
