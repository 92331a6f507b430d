#include "tests/optimizer/rules/equivalence.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "optimizer/rules/generator/field_evaluation.h"

namespace plait {
namespace {

// float32 keeps 24 bits; a few roundings and re-associations of short sums stay below this.
constexpr double kRelativeTolerance = 2e-5;
// Where GF(p) has proved the rest: sums that nearly cancel make the rounding of products look
// larger.
constexpr double kProvedTolerance = 1e-3;

constexpr uint64_t kInputSeeds[] = {11, 12, 13};

std::vector<Tensor> RandomInputs(const Graph& graph, uint64_t seed) {
  Random random(seed);
  std::vector<Tensor> inputs;
  for (TensorId input : graph.inputs()) {
    const TensorType& type = graph.type(input);
    std::vector<double> values(type.elements());
    for (double& value : values) {
      value =
          IsFloat(type.dtype) ? random.Uniform(-1, 1) : static_cast<double>(random.Integer(0, 1));
    }
    inputs.push_back(Tensor::FromDoubles(type, values));
  }
  return inputs;
}

absl::StatusOr<Exactness> CheckInField(const Graph& before, const Graph& after, uint64_t seed) {
  Random random(seed);
  std::vector<EvalTensor> inputs;
  for (TensorId input : before.inputs()) {
    EvalTensor tensor{before.type(input), {}};
    if (IsFloat(tensor.type.dtype)) {
      std::vector<FieldElement> values(tensor.type.elements());
      for (FieldElement& value : values) value = FieldElement(random.Next());
      tensor.values = std::move(values);
    } else {
      std::vector<int64_t> values(tensor.type.elements());
      for (int64_t& value : values) value = random.Integer(0, 1);
      tensor.values = std::move(values);
    }
    inputs.push_back(std::move(tensor));
  }
  const auto expected = EvaluateWithUnknownFunctions(before, inputs);
  if (absl::IsUnimplemented(expected.status())) return Exactness::kFloatOnly;
  PLAIT_RETURN_IF_ERROR(expected.status());
  const auto actual = EvaluateWithUnknownFunctions(after, inputs);
  if (absl::IsUnimplemented(actual.status())) return Exactness::kFloatOnly;
  PLAIT_RETURN_IF_ERROR(actual.status());
  for (size_t i = 0; i < expected->size(); ++i) {
    if ((*expected)[i].values != (*actual)[i].values) {
      return absl::FailedPreconditionError(absl::StrCat("output ", i, " differs in GF(p)"));
    }
  }
  return Exactness::kFieldToo;
}

// What is not finite must be the same on both sides; it takes no part in what errors are relative
// to, which it would make infinite.
absl::Status CompareOutput(size_t index, const Tensor& expected, const Tensor& actual,
                           double tolerance) {
  if (expected.type() != actual.type()) {
    return absl::FailedPreconditionError(absl::StrCat("output ", index, " changed its type"));
  }
  const std::vector<double> a = expected.AsDoubles();
  const std::vector<double> b = actual.AsDoubles();
  double largest = 1e-30;
  double error = 0;
  size_t nans = 0;
  for (size_t j = 0; j < a.size(); ++j) {
    const bool both_nan = std::isnan(a[j]) && std::isnan(b[j]);
    nans += both_nan ? 1 : 0;
    if (std::isfinite(a[j]) && std::isfinite(b[j])) {
      largest = std::max(largest, std::abs(a[j]));
      error = std::max(error, std::abs(a[j] - b[j]));
    } else if (a[j] != b[j] && !both_nan) {
      return absl::FailedPreconditionError(
          absl::StrCat("output ", index, " element ", j, " is ", b[j], ", not ", a[j]));
    }
  }
  if (error > tolerance * largest) {
    return absl::FailedPreconditionError(
        absl::StrCat("output ", index, " differs by ", error / largest, " of its largest value"));
  }
  if (nans > 0 && nans == a.size()) {
    return absl::FailedPreconditionError(
        absl::StrCat("output ", index, " is NaN everywhere, which shows nothing"));
  }
  return absl::OkStatus();
}

absl::Status CheckInFloat(const Graph& before, const Graph& after, uint64_t seed,
                          Exactness exactness) {
  const double tolerance =
      exactness == Exactness::kFieldToo ? kProvedTolerance : kRelativeTolerance;
  const std::vector<Tensor> inputs = RandomInputs(before, seed);
  PLAIT_ASSIGN_OR_RETURN(const std::vector<Tensor> expected,
                         EvaluateGraph(before, inputs, NoWeights()));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<Tensor> actual,
                         EvaluateGraph(after, inputs, NoWeights()));
  for (size_t i = 0; i < expected.size(); ++i) {
    PLAIT_RETURN_IF_ERROR(CompareOutput(i, expected[i], actual[i], tolerance));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Exactness> CheckEquivalent(const Graph& before, const Graph& after, bool exact) {
  if (before.outputs().size() != after.outputs().size() ||
      before.inputs().size() != after.inputs().size()) {
    return absl::FailedPreconditionError("the number of inputs or outputs changed");
  }
  Exactness exactness = Exactness::kFloatOnly;
  for (const uint64_t seed : kInputSeeds) {
    if (exact) {
      PLAIT_ASSIGN_OR_RETURN(exactness, CheckInField(before, after, seed));
    }
    PLAIT_RETURN_IF_ERROR(CheckInFloat(before, after, seed, exactness));
  }
  return exactness;
}

absl::StatusOr<Exactness> CheckEquivalentInField(const Graph& before, const Graph& after) {
  Exactness exactness = Exactness::kFloatOnly;
  for (const uint64_t seed : kInputSeeds) {
    PLAIT_ASSIGN_OR_RETURN(exactness, CheckInField(before, after, seed));
  }
  return exactness;
}

}  // namespace plait
