#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {

// Seeded values of any type: floats in [-2, 2), integers in [-3, 3] (unsigned: [0, 6]).
Tensor RandomTensor(const TensorType& type, uint64_t seed);
std::vector<Tensor> RandomInputs(const Graph& graph, uint64_t seed);

// The only output of a graph text over `inputs`, as doubles; a failure is reported to GoogleTest.
std::vector<double> Evaluated(absl::string_view text, absl::Span<const Tensor> inputs);

// All outputs of `node`, one after the other, over `inputs` that it calls %i0, %i1, ...;
// `constants` are lines of the text form. A failure is reported to GoogleTest.
std::vector<double> Results(absl::string_view node, const std::vector<Tensor>& inputs,
                            absl::string_view constants = "");

// Small integers in an order that no mistake in indexing leaves unnoticed: -5, 2, -2, 5, 1, -3,
// ..., each divided by `divisor`.
Tensor Mixed(Shape shape, double divisor = 1);

// 1, 2, 3, ...
Tensor Counting(Shape shape);

// Matches lists of equal length whose elements differ by no more than float32 rounds.
MATCHER_P(NearAll, expected, "") {
  if (arg.size() != expected.size()) return false;
  for (size_t i = 0; i < arg.size(); ++i) {
    if (!(std::abs(arg[i] - expected[i]) <= 2e-6 * (1 + std::abs(expected[i])))) {
      *result_listener << "element " << i << " is " << arg[i] << ", not " << expected[i];
      return false;
    }
  }
  return true;
}

inline auto AreNear(std::vector<double> expected) { return NearAll(std::move(expected)); }

// A float32 tensor.
Tensor Floats(Shape shape, std::vector<float> values);

// The types of the graph's outputs with a space between, or the error's message.
std::string OutputTypes(absl::string_view text);

}  // namespace plait
