#include "tests/optimizer/cover/cover_tables.h"

#include <algorithm>
#include <cstddef>

namespace plait {

void AddGroup(const Graph& graph, const std::vector<NodeId>& nodes, Format from, Format to,
              double latency_us, KernelTable& table) {
  KernelGroup group;
  group.nodes = nodes;
  group.inputs = InputsOf(graph, nodes);
  group.outputs = OutputsOf(graph, nodes);
  group.input_formats.assign(group.inputs.size(), from);
  group.output_formats.assign(group.outputs.size(), to);
  group.whole.latency_us = group.part.latency_us = latency_us;
  table.groups_at[nodes[0]].push_back(static_cast<int>(table.groups.size()));
  table.groups.push_back(group);
}

KernelTable RandomTable(const Graph& graph, Random& random) {
  KernelTable table;
  table.groups_at.resize(graph.node_count());
  table.reorders.resize(graph.tensor_count());
  const auto add = [&](const std::vector<NodeId>& nodes, bool channels_last_input,
                       bool channels_last_output) {
    const double latency_us = random.Uniform(5, 10) * (1 + 0.4 * static_cast<double>(nodes.size()));
    AddGroup(graph, nodes, static_cast<Format>(channels_last_input),
             static_cast<Format>(channels_last_output), latency_us, table);
  };
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    for (int variant = 0; variant < 4; ++variant) add({node}, variant & 1, variant & 2);
    for (const NodeId second : graph.users(graph.node(node).outputs[0])) {
      add({node, second}, false, false);
      for (const NodeId third : graph.users(graph.node(second).outputs[0])) {
        add({node, second, third}, true, true);
      }
    }
  }
  for (TensorId tensor = 0; tensor < graph.tensor_count(); ++tensor) {
    table.reorders[tensor].resize(kFormatCount * kFormatCount);
    for (const Format to : kAllFormats) {
      for (const Format from : kAllFormats) {
        if (from == to) continue;
        KernelGroup& reorder = table.reorders[tensor][ReorderPlace(from, to)];
        reorder.inputs = reorder.outputs = {tensor};
        reorder.input_formats = {from};
        reorder.output_formats = {to};
        reorder.whole.latency_us = reorder.part.latency_us = random.Uniform(1, 3);
      }
    }
  }
  return table;
}

bool CanRun(const Graph& graph, const KernelTable& table, const std::vector<int>& chosen) {
  std::vector<bool> ready(graph.tensor_count(), false);
  for (TensorId tensor = 0; tensor < graph.tensor_count(); ++tensor) {
    ready[tensor] = graph.tensor(tensor).producer == kNoNode;
  }
  std::vector<int> left = chosen;
  for (bool progress = true; progress;) {
    progress = false;
    for (size_t i = 0; i < left.size(); ++i) {
      const KernelGroup& group = table.groups[left[i]];
      if (!std::all_of(group.inputs.begin(), group.inputs.end(),
                       [&](TensorId input) { return ready[input]; })) {
        continue;
      }
      for (const TensorId output : group.outputs) ready[output] = true;
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
      progress = true;
      break;
    }
  }
  return left.empty();
}

}  // namespace plait
