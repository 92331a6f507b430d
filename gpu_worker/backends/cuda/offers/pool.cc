#include <algorithm>

#include "gpu_worker/backends/cuda/offers/cuda_family.h"
#include "gpu_worker/backends/cuda/offers/image_axes.h"
#include "gpu_worker/backends/cuda/offers/operands.h"
#include "gpu_worker/backends/groups/node_checks.h"
#include "gpu_worker/backends/groups/reduced_axes.h"

namespace plait::cuda {
namespace {

std::optional<PoolProblem::Mode> ModeOf(const Node& node) {
  switch (node.op) {
    case OpKind::kGlobalMaxPool:
    case OpKind::kMaxPool:
    case OpKind::kReduceMax:
      return PoolProblem::Mode::kMax;
    case OpKind::kAveragePool:
      return node.attributes->Int("count_include_pad", 0) != 0
                 ? PoolProblem::Mode::kAverageWithPadding
                 : PoolProblem::Mode::kAverage;
    case OpKind::kGlobalAveragePool:
    case OpKind::kReduceMean:
      return PoolProblem::Mode::kAverage;
    default:
      return std::nullopt;
  }
}

bool IsWindowed(OpKind op) { return op == OpKind::kAveragePool || op == OpKind::kMaxPool; }

// Windows as attributes say them.
bool ReadWindow(const Node& node, PoolProblem* pool) {
  const std::vector<int64_t> dilations = node.attributes->Ints("dilations");
  const bool is_dense =
      std::all_of(dilations.begin(), dilations.end(), [](int64_t d) { return d == 1; });
  std::array<int64_t, 2> window = {1, 1};
  if (!is_dense || !HasExplicitPadding(node) || !ReadAxes(node, "kernel_shape", &window) ||
      !ReadAxes(node, "strides", &pool->stride) || !ReadAxes(node, "pads", &pool->pad)) {
    return false;
  }
  pool->r = window[0];
  pool->s = window[1];
  return true;
}

// One window that is the image: a pool of all pixels, or a reduction over them.
std::optional<PoolProblem> PoolAt(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const std::optional<PoolProblem::Mode> mode = ModeOf(node);
  if (!mode.has_value() || !HasEnds(graph, id) || !HasOneOutput(node)) return std::nullopt;
  const TensorType& x = graph.input_type(id, 0);
  const TensorType& y = graph.output_type(id);
  const bool is_sequence = x.rank() == 3 && IsWindowed(node.op);
  if (x.rank() != 4 && !is_sequence) return std::nullopt;
  if (x.dtype != DataType::kFloat32 || x.elements() == 0) return std::nullopt;
  PoolProblem pool{.mode = *mode,
                   .n = x.shape[0],
                   .c = x.shape[1],
                   .h = is_sequence ? 1 : x.shape[2],
                   .w = x.shape.back()};
  if (!IsWindowed(node.op)) {
    if (ReducedAxes(graph, id) != std::vector<int>({2, 3})) return std::nullopt;
    pool.r = pool.h;
    pool.s = pool.w;
    return pool;
  }
  if (!ReadWindow(node, &pool)) return std::nullopt;
  pool.output_h = is_sequence ? 1 : y.shape[2];
  pool.output_w = y.shape.back();
  return pool;
}

std::vector<std::vector<NodeId>> GroupsOfPool(const Graph& graph, NodeId node) {
  if (!PoolAt(graph, node).has_value()) return {};
  return {{node}};
}

// Row-major reductions are the rows'.
std::vector<FormatRow> RowsOfPool(const Graph& graph, absl::Span<const NodeId> nodes) {
  const OpKind op = graph.node(nodes[0]).op;
  if (op == OpKind::kReduceMean || op == OpKind::kReduceMax) return ChannelsLastRow(graph, nodes);
  if (graph.output_type(nodes[0]).rank() == 3) return PlainRow(graph, nodes);
  return RowsIn(graph, nodes, {Format::kPlain, Format::kChannelsLast});
}

std::optional<KernelProblem> ProblemOfPool(const Graph& graph, const Kernel& kernel) {
  const NodeId node = kernel.nodes[0];
  const std::optional<MemoryLayout> layout = LayoutOf(graph, kernel);
  if (kernel.nodes.size() != 1 || !layout.has_value()) return std::nullopt;
  const std::optional<PoolProblem> pool = PoolAt(graph, node);
  if (!pool.has_value()) return std::nullopt;
  return KernelProblem{.problem = *pool,
                       .layout = *layout,
                       .inputs = {OperandOf(graph, graph.node(node).inputs[0], *layout)}};
}

}  // namespace

const CudaFamily kPoolFamily = {
    .name = "pool",
    .groups = GroupsOfPool,
    .rows = RowsOfPool,
    .problem = ProblemOfPool,
    .takes_parts = true,
};

}  // namespace plait::cuda
