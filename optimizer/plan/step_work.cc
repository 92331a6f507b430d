#include "optimizer/plan/step_work.h"

#include <algorithm>

#include "optimizer/kernels/format_rules.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/plan/check_parts.h"

namespace plait {
std::set<TensorId> WeightsOf(const Step& step, const Graph& graph) {
  std::set<TensorId> weights;
  for (const NodeId node : step.kernel.nodes) {
    for (const TensorId input : graph.node(node).inputs) {
      if (input != kNoTensor && graph.tensor(input).constant != nullptr) weights.insert(input);
    }
  }
  return weights;
}

int64_t FlopsOf(const Step& step, const Graph& graph) {
  int64_t flops = 0;
  for (const NodeId node : step.kernel.nodes) {
    // It counts as some, but converts.
    if (graph.node(node).op == OpKind::kCast) continue;
    flops = SaturatingAdd(flops, WorkOf(graph, node).flops);
  }
  return flops;
}

int64_t OffchipBytes(const Step& step, const Plan& plan, const Graph& graph) {
  int64_t bytes = 0;
  for (const std::vector<int>* values : {&step.inputs, &step.outputs}) {
    for (const int value : *values) {
      bytes += BytesOf(graph.type(plan.values[value].tensor), plan.values[value].format);
    }
  }
  for (const TensorId weight : WeightsOf(step, graph)) bytes += graph.type(weight).bytes();
  return bytes;
}

int64_t OffchipBytes(const Plan& plan, const Graph& graph) {
  int64_t bytes = 0;
  for (const Step& step : plan.steps) bytes += OffchipBytes(step, plan, graph);
  return bytes;
}

bool IsCopy(const Step& step, const Plan& plan, const Graph& graph) {
  if (FlopsOf(step, graph) > 0) return false;
  if (!ConcatPiecesOf(graph, step.kernel).empty()) {
    return !CopiedPieces(plan, graph, step).empty();
  }
  return std::any_of(step.outputs.begin(), step.outputs.end(), [&](int output) {
    const Value& value = plan.values[output];
    return value.alias_of < 0 || value.first_channel >= 0;
  });
}

}  // namespace plait
