#include "tests/gpu_worker/executor/simple_plan.h"

#include <algorithm>

namespace plait {
namespace {

bool IsIn(Format wanted, const Kernel& kernel) {
  const auto is_wanted = [&](Format format) { return format == wanted; };
  return std::all_of(kernel.input_formats.begin(), kernel.input_formats.end(), is_wanted) &&
         std::all_of(kernel.output_formats.begin(), kernel.output_formats.end(), is_wanted);
}

Kernel Choose(const std::vector<Kernel>& kernels, const SimplePlanOptions& options) {
  Kernel chosen = kernels.front();
  for (const Kernel& kernel : kernels) {
    if (IsIn(options.format, kernel) && kernel.width == options.threads) chosen = kernel;
  }
  return chosen;
}

// The last one.
int FindValue(const Plan& plan, TensorId tensor) {
  for (size_t i = plan.values.size(); i-- > 0;) {
    if (plan.values[i].tensor == tensor) return static_cast<int>(i);
  }
  return -1;
}

int AddValue(const Graph& graph, TensorId tensor, Format format, Plan* plan) {
  Value value{.tensor = tensor, .format = format};
  // The caller has the plain ones of inputs and outputs.
  const bool is_inner = graph.tensor(tensor).producer != kNoNode && !graph.is_output(tensor);
  if (is_inner || format != Format::kPlain) {
    value.buffer = {plan->arena_bytes, (graph.type(tensor).bytes() + 63) / 64 * 64};
    plan->arena_bytes += value.buffer.size_bytes;
  }
  plan->values.push_back(value);
  return static_cast<int>(plan->values.size()) - 1;
}

int WriterOf(const Plan& plan, int value) {
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const std::vector<int>& outputs = plan.steps[i].outputs;
    if (std::find(outputs.begin(), outputs.end(), value) != outputs.end()) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

// Where the tensor lies in another format. A constant lies nowhere.
void AddReorder(const Graph& graph, const KernelCatalog& catalog, TensorId tensor, Format to,
                Plan* plan) {
  const int from = FindValue(*plan, tensor);
  if (from < 0 || plan->values[from].format == to) return;
  const Format format = plan->values[from].format;
  Step step{.kernel = catalog.Reorder(graph.type(tensor), format, to), .inputs = {from}};
  const int writer = WriterOf(*plan, from);
  if (writer >= 0 && plan->steps[writer].stream != step.stream) step.waits.push_back(writer);
  step.outputs = {AddValue(graph, tensor, to, plan)};
  plan->steps.push_back(std::move(step));
}

}  // namespace

Plan SimplePlan(const Graph& graph, const DeviceDescription& device, const KernelCatalog& catalog,
                const SimplePlanOptions& options) {
  Plan plan;
  plan.graph_fingerprint = graph.fingerprint().ToString();
  plan.device_fingerprint = device.fingerprint;
  plan.engine_version = "test";
  plan.threads = device.threads;
  plan.streams = options.streams;
  for (const TensorId input : graph.inputs()) {
    AddValue(graph, input, Format::kPlain, &plan);
    AddReorder(graph, catalog, input, options.format, &plan);
  }
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    Step step{.kernel = Choose(catalog.KernelsAt(graph, node, false), options),
              .stream = options.stream_of(node)};
    for (const TensorId input : InputsOf(graph, step.kernel.nodes)) {
      const int value = FindValue(plan, input);
      step.inputs.push_back(value);
      const int writer = WriterOf(plan, value);
      const bool seen = std::find(step.waits.begin(), step.waits.end(), writer) != step.waits.end();
      if (writer >= 0 && !seen && plan.steps[writer].stream != step.stream) {
        step.waits.push_back(writer);
      }
    }
    for (const TensorId output : OutputsOf(graph, step.kernel.nodes)) {
      step.outputs.push_back(AddValue(graph, output, options.format, &plan));
    }
    plan.steps.push_back(std::move(step));
  }
  for (const TensorId output : graph.outputs()) {
    AddReorder(graph, catalog, output, Format::kPlain, &plan);
  }
  return plan;
}

}  // namespace plait
