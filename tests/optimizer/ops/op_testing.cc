#include "tests/optimizer/ops/op_testing.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/random.h"
#include "gtest/gtest.h"

namespace plait {

absl::StatusOr<std::vector<TensorType>> InferNode(OpKind op, const Attributes& attributes,
                                                  absl::Span<const TensorType> input_types,
                                                  absl::Span<const Tensor* const> constants,
                                                  int output_count) {
  return InferTypes(op, attributes, input_types, constants, output_count);
}

absl::StatusOr<Graph> InferredGraph(absl::string_view text) { return ParseGraph(text, InferNode); }

Tensor RandomTensor(const TensorType& type, uint64_t seed) {
  Random random(seed);
  std::vector<double> values(static_cast<size_t>(type.elements()));
  const bool is_unsigned = type.dtype == DataType::kUint8 || type.dtype == DataType::kUint16 ||
                           type.dtype == DataType::kUint32 || type.dtype == DataType::kUint64;
  for (double& value : values) {
    if (IsFloat(type.dtype)) {
      value = random.Uniform(-2, 2);
    } else if (type.dtype == DataType::kBool) {
      value = static_cast<double>(random.Integer(0, 1));
    } else {
      value = static_cast<double>(random.Integer(-3, 3) + (is_unsigned ? 3 : 0));
    }
  }
  return Tensor::FromDoubles(type, values);
}

std::vector<Tensor> RandomInputs(const Graph& graph, uint64_t seed) {
  std::vector<Tensor> inputs;
  for (TensorId id : graph.inputs()) inputs.push_back(RandomTensor(graph.type(id), ++seed));
  return inputs;
}

std::vector<double> Evaluated(absl::string_view text, absl::Span<const Tensor> inputs) {
  const absl::StatusOr<Graph> graph = InferredGraph(text);
  if (!graph.ok()) {
    ADD_FAILURE() << graph.status().ToString();
    return {};
  }
  const absl::StatusOr<std::vector<Tensor>> outputs = EvaluateGraph(*graph, inputs, NoWeights());
  if (!outputs.ok()) {
    ADD_FAILURE() << outputs.status().ToString();
    return {};
  }
  return outputs->front().AsDoubles();
}

Tensor Floats(Shape shape, std::vector<float> values) {
  return Tensor::Of<float>(std::move(shape), values);
}

std::string OutputTypes(absl::string_view text) {
  const absl::StatusOr<Graph> graph = InferredGraph(text);
  if (!graph.ok()) return graph.status().ToString();
  std::vector<std::string> types;
  for (TensorId id : graph->outputs()) types.push_back(graph->type(id).ToString());
  return absl::StrJoin(types, " ");
}

}  // namespace plait
