#include <utility>

#include "gpu_worker/backends/cuda/offers/cuda_family.h"
#include "gpu_worker/backends/cuda/offers/expression_text.h"
#include "gpu_worker/backends/cuda/offers/operands.h"
#include "gpu_worker/backends/groups/elementwise_group.h"
#include "gpu_worker/backends/groups/node_checks.h"

namespace plait::cuda {
namespace {

// An Expand is a read that repeats.
bool IsExpand(const Graph& graph, NodeId node) {
  return IsOneOf(graph, node, {OpKind::kExpand}) &&
         ElementTypeOf(graph.output_type(node).dtype).has_value();
}

std::vector<std::vector<NodeId>> GroupsOfElementwise(const Graph& graph, NodeId node) {
  if (IsExpand(graph, node)) return {{node}};
  if (!HasExpression(graph, node)) return {};
  std::vector<std::vector<NodeId>> groups = {{node}};
  std::vector<NodeId> group = GrowElementwiseGroup(graph, node, HasExpression, 1);
  if (group.size() > 1) groups.push_back(std::move(group));
  return groups;
}

// All lie like the result; operands are read at any distances.
std::vector<FormatRow> RowsOfElementwise(const Graph& graph, absl::Span<const NodeId> nodes) {
  if (graph.output_type(nodes.front()).rank() != 4) return PlainRow(graph, nodes);
  return RowsIn(graph, nodes, {Format::kPlain, Format::kChannelsLast});
}

std::optional<KernelProblem> ProblemOfElementwise(const Graph& graph, const Kernel& kernel) {
  const std::optional<MemoryLayout> layout = LayoutOf(graph, kernel);
  if (!layout.has_value()) return std::nullopt;
  const NodeId last = kernel.nodes.back();
  const std::optional<ElementType> result = ElementTypeOf(graph.output_type(last).dtype);
  if (!result.has_value()) return std::nullopt;
  ElementwiseProblem problem{
      .expression = "x0", .shape = SizesOf(graph.output_type(last)), .result_type = *result};
  if (kernel.nodes.size() == 1 && IsExpand(graph, last)) {
    const TensorId input = graph.node(last).inputs[0];
    const bool lies_alike = *layout == MemoryLayout::kNchw || graph.type(input).rank() == 4;
    if (!lies_alike || ElementTypeOf(graph.type(input).dtype) != *result) return std::nullopt;
    problem.inputs = {SizesOf(graph.type(input))};
    if (*result != ElementType::kFloat) problem.input_types = {*result};
    return KernelProblem{.problem = std::move(problem),
                         .layout = *layout,
                         .inputs = {OperandOf(graph, input, *layout)}};
  }
  for (const NodeId node : kernel.nodes) {
    if (!HasExpression(graph, node)) return std::nullopt;
  }
  if (!IsElementwiseGroup(graph, kernel.nodes)) return std::nullopt;
  std::optional<ExpressionText> expression = ExpressionOf(graph, kernel.nodes, *layout);
  if (!expression.has_value()) return std::nullopt;
  problem.expression = std::move(expression->text);
  problem.inputs = std::move(expression->sizes);
  problem.input_types = std::move(expression->types);
  return KernelProblem{
      .problem = std::move(problem), .layout = *layout, .inputs = std::move(expression->inputs)};
}

}  // namespace

const CudaFamily kElementwiseFamily = {
    .name = "elementwise",
    .groups = GroupsOfElementwise,
    .rows = RowsOfElementwise,
    .problem = ProblemOfElementwise,
    .has_16_bits = true,
    .takes_parts = true,
};

}  // namespace plait::cuda
