#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"
#include "gpu_worker/backends/groups/epilogue.h"
#include "gpu_worker/backends/groups/format_rows.h"
#include "gpu_worker/backends/groups/node_checks.h"

namespace plait {
namespace {

// A scaled addend is scaled once at load, which only a constant allows.
bool RunsGemm(const Graph& graph, const Node& node) {
  const bool has_addend = node.inputs.size() > 2 && node.inputs[2] != kNoTensor;
  return !has_addend || node.attributes->Float("beta", 1.0f) == 1.0f ||
         graph.tensor(node.inputs[2]).constant != nullptr;
}

// A vector on the right would leave the result without the axis that channels run along.
bool RunsMatMul(const Graph& graph, const Node& node) {
  return graph.type(node.outputs[0]).rank() <= 6 && graph.type(node.inputs[1]).rank() >= 2 &&
         graph.type(node.inputs[0]).rank() >= 1;
}

bool RunsMatmul(const Graph& graph, NodeId id) {
  if (!IsOneOf(graph, id, {OpKind::kGemm, OpKind::kMatMul}) || !AllFloat32(graph, id)) return false;
  const Node& node = graph.node(id);
  return node.op == OpKind::kGemm ? RunsGemm(graph, node) : RunsMatMul(graph, node);
}

}  // namespace

const FamilyOffer kMatmulOffer = {
    .name = "matmul",
    .runs = RunsMatmul,
    .grow = GrowBehind<RunsMatmul>,
    .formats = PlainRow,
    .expected_share = [](const Kernel&) { return 0.6; },
    .worth_dividing = HasManyFlops,
};

}  // namespace plait
