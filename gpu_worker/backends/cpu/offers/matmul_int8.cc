#include "gpu_worker/backends/cpu/offers/digit_limits.h"
#include "gpu_worker/backends/cpu/offers/epilogue.h"
#include "gpu_worker/backends/cpu/offers/format_rows.h"
#include "gpu_worker/backends/cpu/offers/node_checks.h"
#include "gpu_worker/backends/cpu/offers/worth_dividing.h"

namespace plait {
namespace {

// A vector that is added to every row, or nothing.
bool AddsOneVector(const Graph& graph, const Node& node) {
  if (node.inputs.size() < 3 || node.inputs[2] == kNoTensor) return true;
  const TensorInfo& addend = graph.tensor(node.inputs[2]);
  const int64_t columns = graph.type(node.outputs[0]).shape.back();
  return addend.constant != nullptr && addend.type.elements() == columns &&
         addend.type.shape.back() == columns && node.attributes->Float("beta", 1.0f) == 1.0f;
}

bool RunsGemm(const Graph& graph, const Node& node) {
  return node.attributes->Int("transA", 0) == 0 && node.attributes->Float("alpha", 1.0f) == 1.0f &&
         AddsOneVector(graph, node);
}

bool Runs(const Graph& graph, NodeId id) {
  if (!IsOneOf(graph, id, {OpKind::kGemm, OpKind::kMatMul}) || !AllFloat32(graph, id)) return false;
  const Node& node = graph.node(id);
  const TensorInfo& right = graph.tensor(node.inputs[1]);
  const Shape& left = graph.type(node.inputs[0]).shape;
  if (right.constant == nullptr || right.type.rank() != 2 || left.size() < 2) return false;
  if (node.op == OpKind::kGemm && !RunsGemm(graph, node)) return false;
  const int64_t depth = left.back();
  const int64_t columns = graph.type(node.outputs[0]).shape.back();
  return depth > 0 && columns > 0 &&
         IsDigitProduct({graph.type(node.inputs[0]).elements() / depth, depth, columns});
}

std::vector<std::vector<NodeId>> Grow(const Graph& graph, NodeId node) {
  return Runs(graph, node) ? GrowEpilogues(graph, node) : std::vector<std::vector<NodeId>>();
}

std::string Variant(const FormatRow&) { return "x6"; }

}  // namespace

const FamilyOffer kMatmulInt8Offer = {
    .name = "matmul_int8",
    .runs = Runs,
    .needs_admission = true,
    .instruction_set = "amx",
    .grow = Grow,
    .formats = PlainRow,
    .variant = Variant,
    .worth_dividing = HasManyFlops,
};

}  // namespace plait
