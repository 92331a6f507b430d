#include "gpu_worker/backends/cuda/driver/graph_builder.h"

#include <algorithm>
#include <map>

// By an example: three operations, captured one by one,
//   0 "conv"  a fill m of its workspace, then a kernel k: two nodes and the edge m -> k
//   1 "relu"  one kernel r
//   2 "pool"  one kernel p
// with AddEdge(0, 1, kData) and AddEdge(0, 2, kData) become one graph of four nodes and three
// edges,
//   m -> k,  k -> r,  k -> p
// where r and p may run side by side. The first nodes of an operation are those without an edge
// from inside of it (m), the last ones those without an edge to the inside (k); an edge between
// operations is drawn from every last to every first node. Edges between operations are reduced
// before: k -> p beside k -> r and r -> p would not be drawn. Had r said that it begins early, k ->
// r would be programmatic, since k is all that r waits for: as r waits for the end of k by itself,
// what is behind r is behind k too, and the edges that were left out stay implied.
//
// Copying nodes rather than adding each capture as a child graph: a child graph is one node to its
// neighbours, so that whoever depends on a part of it waits for all of it.

namespace plait::cuda {
namespace {

// CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC and CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC.
constexpr EdgeData kProgrammatic{.from_port = 1, .to_port = 0, .type = 1};

}  // namespace

ExecutableGraph::ExecutableGraph(Runtime* runtime, Graph graph, GraphExec exec, size_t nodes,
                                 size_t edges, Kept kept)
    : runtime_(runtime),
      kept_(std::move(kept)),
      graph_(runtime, graph),
      exec_(runtime, exec),
      nodes_(nodes),
      edges_(edges) {}

// By exchange: what this one kept goes with its graph, when `other` does.
ExecutableGraph& ExecutableGraph::operator=(ExecutableGraph&& other) noexcept {
  std::swap(runtime_, other.runtime_);
  std::swap(kept_, other.kept_);
  std::swap(graph_, other.graph_);
  std::swap(exec_, other.exec_);
  std::swap(nodes_, other.nodes_);
  std::swap(edges_, other.edges_);
  return *this;
}

Status ExecutableGraph::Launch(Stream stream) const {
  return runtime_->LaunchGraph(exec_.get(), stream);
}

Status ExecutableGraph::Upload(Stream stream) const {
  return runtime_->UploadGraph(exec_.get(), stream);
}

void FlatGraphBuilder::Keep(std::shared_ptr<const void> used) {
  // One candidate's operations keep the same thing: once is enough.
  if (used == nullptr || (!kept_.empty() && kept_.back() == used)) return;
  kept_.push_back(std::move(used));
}

Result<int> FlatGraphBuilder::AddOperation(const std::string& name,
                                           const std::function<Status(Stream)>& launch) {
  if (stream_.get() == nullptr) {
    const Result<Stream> stream = runtime_->CreateStream(0);
    if (!stream.ok()) return stream.error();
    stream_ = OwnedStream(runtime_, stream.value());
  }
  // One stream for every capture: nothing ever runs on it.
  PLAIT_CUDA_RETURN_IF_ERROR(runtime_->BeginCapture(stream_.get()));
  const Status launched = launch(stream_.get());
  const Result<Graph> captured =
      runtime_->EndCapture(stream_.get());  // also when the launch failed
  OwnedGraph graph(runtime_, captured.ok() ? captured.value() : nullptr);
  if (!launched.ok()) return launched.error();
  if (!captured.ok()) return Error{captured.error().code, name + ": " + captured.error().message};
  operations_.push_back({name, std::make_shared<const OwnedGraph>(std::move(graph)), 0});
  return static_cast<int>(operations_.size()) - 1;
}

Status FlatGraphBuilder::AddEdge(int before, int after, EdgeReason reason, EdgeData data) {
  const int count = static_cast<int>(operations_.size());
  if (before < 0 || after < 0 || before >= count || after >= count || before == after) {
    return Error{ErrorCode::kInvalid, "graph: no edge from operation " + std::to_string(before) +
                                          " to " + std::to_string(after)};
  }
  edges_.Add(before, after, reason, data);
  return Ok();
}

Status FlatGraphBuilder::AddStreamOrder(const std::vector<int>& order) {
  for (size_t i = 1; i < order.size(); ++i) {
    PLAIT_CUDA_RETURN_IF_ERROR(AddEdge(order[i - 1], order[i], EdgeReason::kStreamOrder));
  }
  return Ok();
}

Status FlatGraphBuilder::AddStageBarrier(const std::vector<int>& before,
                                         const std::vector<int>& after) {
  // By pairs it takes b * a edges, through an empty node b + a, and the node itself. Two by two are
  // four either way, and go without the node.
  if (before.size() * after.size() <= before.size() + after.size()) {
    for (int b : before) {
      for (int a : after) {
        PLAIT_CUDA_RETURN_IF_ERROR(AddEdge(b, a, EdgeReason::kStageBarrier));
      }
    }
    return Ok();
  }
  operations_.push_back({"barrier", nullptr, 0});
  const int barrier = static_cast<int>(operations_.size()) - 1;
  for (int b : before) {
    PLAIT_CUDA_RETURN_IF_ERROR(AddEdge(b, barrier, EdgeReason::kStageBarrier));
  }
  for (int a : after) {
    PLAIT_CUDA_RETURN_IF_ERROR(AddEdge(barrier, a, EdgeReason::kStageBarrier));
  }
  return Ok();
}

// CUDA finds a cycle as well, but cannot name the operation.
Result<std::vector<int>> FlatGraphBuilder::Order() const {
  std::vector<int> order = edges_.Order(static_cast<int>(operations_.size()));
  if (order.size() == operations_.size()) return order;
  std::vector<bool> placed(operations_.size(), false);
  for (int operation : order) placed[operation] = true;
  const auto left = std::find(placed.begin(), placed.end(), false) - placed.begin();
  return Error{ErrorCode::kInvalid, "graph: a cycle before " + operations_[left].name};
}

// A priority that the capture had is only replaced by another one.
Status FlatGraphBuilder::Prioritize(GraphNode node, int priority) const {
  if (priority == 0) return Ok();
  const Result<NodeDescription::Kind> kind = runtime_->NodeKind(node);
  if (!kind.ok()) return kind.error();
  if (kind.value() != NodeDescription::Kind::kKernel) return Ok();
  return runtime_->SetNodePriority(node, priority);
}

Result<FlatGraphBuilder::Ends> FlatGraphBuilder::CopyOperation(const Operation& operation,
                                                               Graph graph,
                                                               size_t* edge_count) const {
  std::vector<GraphNode> nodes;
  std::vector<GraphEdge> edges;
  if (operation.captured != nullptr) {
    Result<std::vector<GraphNode>> captured = runtime_->Nodes(operation.captured->get());
    if (!captured.ok()) return captured.error();
    nodes = captured.value();
    Result<std::vector<GraphEdge>> inner = runtime_->Edges(operation.captured->get());
    if (!inner.ok()) return inner.error();
    edges = inner.value();
  }
  // A barrier, or a launch that enqueued nothing (a copy of no bytes): edges need a node to hold on
  // to.
  if (nodes.empty()) {
    const Result<GraphNode> empty = runtime_->AddEmptyNode(graph);
    if (!empty.ok()) return empty.error();
    return Ends{{empty.value()}, {empty.value()}};
  }
  std::map<GraphNode, GraphNode> copies;
  for (GraphNode node : nodes) {
    const Result<GraphNode> copy = runtime_->CopyNode(graph, node);
    if (!copy.ok()) {
      return Error{copy.error().code, operation.name + ": " + copy.error().message};
    }
    copies[node] = copy.value();
    PLAIT_CUDA_RETURN_IF_ERROR(Prioritize(copy.value(), operation.priority));
  }
  // Edges inside keep their data: a library's own kernels may overlap as it has meant them to.
  std::map<GraphNode, bool> has_before, has_after;
  for (GraphEdge& edge : edges) {
    has_after[edge.from] = has_before[edge.to] = true;
    edge.from = copies[edge.from];
    edge.to = copies[edge.to];
  }
  if (!edges.empty()) PLAIT_CUDA_RETURN_IF_ERROR(runtime_->AddEdges(graph, edges));
  *edge_count += edges.size();
  Ends ends;
  for (GraphNode node : nodes) {
    if (!has_before[node]) ends.first.push_back(copies[node]);
    if (!has_after[node]) ends.last.push_back(copies[node]);
  }
  return ends;
}

Status FlatGraphBuilder::AppendEdges(const Ends& before, const Ends& after, EdgeData data,
                                     std::vector<GraphEdge>* edges) const {
  const auto is_kernel = [this](GraphNode node) -> Result<bool> {
    const Result<NodeDescription::Kind> kind = runtime_->NodeKind(node);
    if (!kind.ok()) return kind.error();
    return kind.value() == NodeDescription::Kind::kKernel;
  };
  for (GraphNode from : before.last) {
    for (GraphNode to : after.first) {
      EdgeData own = data;
      for (GraphNode node : {from, to}) {
        if (own.type == 0) break;
        const Result<bool> kernel = is_kernel(node);
        if (!kernel.ok()) return kernel.error();
        // Only a kernel can trigger or wait; CUDA refuses a graph that asks another node to.
        if (!kernel.value()) own = EdgeData{};
      }
      edges->push_back({from, to, own});
    }
  }
  return Ok();
}

Result<ExecutableGraph> FlatGraphBuilder::BuildInto(Graph graph,
                                                    const OperationEdges::Pairs& pairs) const {
  size_t edge_count = 0;
  std::vector<Ends> ends;
  for (const Operation& operation : operations_) {
    Result<Ends> copied = CopyOperation(operation, graph, &edge_count);
    if (!copied.ok()) return copied.error();
    ends.push_back(std::move(copied).value());
  }
  std::vector<int> edges_into(operations_.size(), 0);
  for (const auto& [operations, data] : pairs) ++edges_into[operations.second];
  std::vector<GraphEdge> edges;
  for (const auto& [operations, data] : pairs) {
    const auto& [before, after] = operations;
    const bool is_single = edges_into[after] == 1 && ends[before].last.size() == 1;
    const bool begins_early = operations_[after].begins_early && is_single;
    PLAIT_CUDA_RETURN_IF_ERROR(
        AppendEdges(ends[before], ends[after], begins_early ? kProgrammatic : data, &edges));
  }
  if (!edges.empty()) PLAIT_CUDA_RETURN_IF_ERROR(runtime_->AddEdges(graph, edges));
  const Result<std::vector<GraphNode>> nodes = runtime_->Nodes(graph);
  if (!nodes.ok()) return nodes.error();
  const Result<GraphExec> exec = runtime_->Instantiate(graph);
  if (!exec.ok()) return exec.error();
  Kept kept = kept_;
  for (const Operation& operation : operations_) {
    if (operation.captured != nullptr) kept.push_back(operation.captured);
  }
  return ExecutableGraph(runtime_, graph, exec.value(), nodes.value().size(),
                         edge_count + edges.size(), std::move(kept));
}

Result<ExecutableGraph> FlatGraphBuilder::Build() const {
  const Result<std::vector<int>> order = Order();
  if (!order.ok()) return order.error();
  const Result<Graph> graph = runtime_->CreateGraph();
  if (!graph.ok()) return graph.error();
  Result<ExecutableGraph> built = BuildInto(graph.value(), edges_.Reduced(order.value()));
  if (!built.ok()) static_cast<void>(runtime_->DestroyGraph(graph.value()).ok());
  return built;
}

Result<std::vector<NodeDescription>> FlatGraphBuilder::Describe(int operation) const {
  std::vector<NodeDescription> descriptions;
  if (operations_[operation].captured == nullptr) return descriptions;
  const Result<std::vector<GraphNode>> nodes =
      runtime_->Nodes(operations_[operation].captured->get());
  if (!nodes.ok()) return nodes.error();
  for (GraphNode node : nodes.value()) {
    const Result<NodeDescription> description = runtime_->DescribeNode(node);
    if (!description.ok()) return description.error();
    descriptions.push_back(description.value());
  }
  return descriptions;
}

}  // namespace plait::cuda
