#include "tests/optimizer/plan/sample_plan.h"

#include <utility>

#include "tests/fakes/fake_device.h"

namespace plait {

TensorId TensorNamed(const Graph& graph, absl::string_view name) {
  for (TensorId id = 0; id < graph.tensor_count(); ++id) {
    if (*graph.tensor(id).name == name) return id;
  }
  return kNoTensor;
}

Graph SampleGraph() {
  return GraphOf(R"(graph {
  input %x: float32[1,16,4,4]
  const %shape: int64[2] = [16,16]
  %a: float32[1,16,4,4] = Relu(%x) {}
  %b: float32[1,16,4,4] = Neg(%a) {}
  %c: float32[1,16,4,4] = Abs(%a) {}
  %d: float32[1,16,4,4] = Add(%b, %c) {}
  %e: float32[16,16] = Reshape(%d, %shape) {}
  %y: float32[16,16] = Relu(%e) {}
  output %y
}
)");
}

Step StepOf(NodeId node, int stream, std::vector<int> inputs, int output, std::vector<int> waits) {
  Step step;
  step.kernel.family = "elementwise";
  step.kernel.variant = "vector \"8\"";
  step.kernel.nodes = {node};
  step.kernel.input_formats.assign(inputs.size(), Format::kPlain);
  step.kernel.output_formats = {Format::kPlain};
  step.stream = stream;
  step.waits = std::move(waits);
  step.inputs = std::move(inputs);
  step.outputs = {output};
  return step;
}

Plan SamplePlan(const Graph& graph) {
  Plan plan;
  plan.graph_fingerprint = graph.fingerprint().ToString();
  plan.device_fingerprint = "a device\nwith \"quotes\"";
  plan.engine_version = "1.0";
  plan.threads = 2;
  plan.streams = 2;
  plan.arena_bytes = 3072;
  const auto value = [&](absl::string_view name, int64_t offset, int64_t size, int alias) {
    plan.values.push_back({TensorNamed(graph, name), Format::kPlain, {offset, size}, alias});
  };
  value("x", 0, 0, -1);
  value("a", 0, 1024, -1);
  value("b", 1024, 1024, -1);
  value("c", 2048, 1024, -1);
  value("d", 0, 1024, -1);
  value("e", 0, 1024, kValueD);
  value("y", 0, 0, -1);
  plan.steps = {
      StepOf(0, 0, {kValueX}, kValueA, {}),  StepOf(1, 0, {kValueA}, kValueB, {}),
      StepOf(2, 1, {kValueA}, kValueC, {0}), StepOf(3, 0, {kValueB, kValueC}, kValueD, {2}),
      StepOf(4, 0, {kValueD}, kValueE, {}),  StepOf(5, 0, {kValueE}, kValueY, {})};
  return plan;
}

Plan ReorderingPlan(const Graph& graph) {
  Plan plan = SamplePlan(graph);
  plan.arena_bytes = 5120;
  plan.values.push_back({TensorNamed(graph, "a"), Format::kChannelsLast, {3072, 1024}, -1});
  plan.values.push_back({TensorNamed(graph, "c"), Format::kChannelsLast, {4096, 1024}, -1});
  Step to = StepOf(0, 1, {kValueA}, 7, {0});
  to.kernel.nodes.clear();
  to.kernel.output_formats = {Format::kChannelsLast};
  Step branch = StepOf(2, 1, {7}, 8, {});
  branch.kernel.input_formats = branch.kernel.output_formats = {Format::kChannelsLast};
  Step from = StepOf(0, 1, {8}, kValueC, {});
  from.kernel.nodes.clear();
  from.kernel.input_formats = {Format::kChannelsLast};
  plan.steps[2] = to;
  plan.steps.insert(plan.steps.begin() + 3, {branch, from});
  plan.steps[5].waits = {4};
  return plan;
}

}  // namespace plait
