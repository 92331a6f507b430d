#include "tests/optimizer/ops/op_testing.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/random.h"
#include "gtest/gtest.h"

namespace plait {

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
  const absl::StatusOr<Graph> graph = ParseTypedGraph(text);
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

std::vector<double> Results(absl::string_view node, const std::vector<Tensor>& inputs,
                            absl::string_view constants) {
  std::string text = "graph {\n";
  for (size_t i = 0; i < inputs.size(); ++i) {
    absl::StrAppend(&text, "input %i", i, ": ", inputs[i].type().ToString(), "\n");
  }
  absl::StrAppend(&text, constants, node, "\noutput ", node.substr(0, node.find(" = ")), "\n}\n");
  const absl::StatusOr<Graph> graph = ParseTypedGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  if (!graph.ok()) return {};
  const absl::StatusOr<std::vector<Tensor>> outputs = EvaluateGraph(*graph, inputs, NoWeights());
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  if (!outputs.ok()) return {};
  std::vector<double> values;
  for (const Tensor& output : *outputs) {
    const std::vector<double> part = output.AsDoubles();
    values.insert(values.end(), part.begin(), part.end());
  }
  return values;
}

Tensor Mixed(Shape shape, double divisor) {
  std::vector<double> values(static_cast<size_t>(ElementsOf(shape)));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = (static_cast<double>(i * 7 % 11) - 5) / divisor;
  }
  return Tensor::FromDoubles({DataType::kFloat32, std::move(shape)}, values);
}

Tensor Counting(Shape shape) {
  std::vector<double> values(static_cast<size_t>(ElementsOf(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i + 1);
  return Tensor::FromDoubles({DataType::kFloat32, std::move(shape)}, values);
}

Tensor Floats(Shape shape, std::vector<float> values) {
  return Tensor::Of<float>(std::move(shape), values);
}

std::string OutputTypes(absl::string_view text) {
  const absl::StatusOr<Graph> graph = ParseTypedGraph(text);
  if (!graph.ok()) return graph.status().ToString();
  std::vector<std::string> types;
  for (TensorId id : graph->outputs()) types.push_back(graph->type(id).ToString());
  return absl::StrJoin(types, " ");
}

}  // namespace plait
