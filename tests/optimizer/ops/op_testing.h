#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optimizer/ir/text.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {

// A graph from its text, types inferred.
absl::StatusOr<Graph> InferredGraph(absl::string_view text);

// The InferFunction that ParseGraph takes.
absl::StatusOr<std::vector<TensorType>> InferNode(OpKind op, const Attributes& attributes,
                                                  absl::Span<const TensorType> input_types,
                                                  absl::Span<const Tensor* const> constants,
                                                  int output_count);

// Seeded values of any type: floats in [-2, 2), integers in [-3, 3] (unsigned: [0, 6]).
Tensor RandomTensor(const TensorType& type, uint64_t seed);
std::vector<Tensor> RandomInputs(const Graph& graph, uint64_t seed);

// The only output of a graph text over `inputs`, as doubles; a failure is reported to GoogleTest.
std::vector<double> Evaluated(absl::string_view text, absl::Span<const Tensor> inputs);

// A float32 tensor.
Tensor Floats(Shape shape, std::vector<float> values);

// The types of the graph's outputs with a space between, or the error's message.
std::string OutputTypes(absl::string_view text);

}  // namespace plait
