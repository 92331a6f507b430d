#include <algorithm>
#include <utility>

#include "tests/gpu_worker/backends/cuda/recording_runtime.h"

namespace plait::cuda {

GraphNode RecordingRuntime::AddNode(Graph graph, NodeState node) {
  const auto handle = NextHandle<GraphNode>();
  node.graph = graph;
  nodes_[handle] = std::move(node);
  graphs_[graph].nodes.push_back(handle);
  return handle;
}

void RecordingRuntime::CaptureNode(StreamState* stream, NodeState node) {
  const GraphNode handle = AddNode(stream->capture, std::move(node));
  for (GraphNode before : stream->frontier) {
    graphs_[stream->capture].edges.push_back({before, handle, {}});
  }
  stream->frontier = {handle};
}

Status RecordingRuntime::BeginCapture(Stream stream) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("BeginCapture"));
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return Refuse("BeginCapture: not a stream");
  if (found->second.capture != nullptr) return Refuse("BeginCapture: the stream captures already");
  const auto graph = NextHandle<Graph>();
  graphs_[graph];
  found->second = {graph, true, {}};
  return Ok();
}

Result<Graph> RecordingRuntime::EndCapture(Stream stream) {
  const Status recorded = Record("EndCapture");
  const auto found = streams_.find(stream);
  if (found == streams_.end() || !found->second.origin) {
    return Refuse("EndCapture: the stream did not begin a capture");
  }
  const Graph graph = found->second.capture;
  // Every node that nothing follows has to be known to the stream that began.
  const GraphState& state = graphs_[graph];
  const auto& joined = found->second.frontier;
  bool unjoined = false;
  for (GraphNode node : state.nodes) {
    const bool followed = std::any_of(state.edges.begin(), state.edges.end(),
                                      [node](const GraphEdge& edge) { return edge.from == node; });
    unjoined |= !followed && std::find(joined.begin(), joined.end(), node) == joined.end();
  }
  for (auto& [other, other_state] : streams_) {
    if (other_state.capture == graph) other_state = {};
  }
  for (auto& [event, event_state] : events_) {
    if (event_state.capture == graph) event_state.capture = nullptr;
  }
  if (unjoined || !recorded.ok()) {
    for (GraphNode node : state.nodes) nodes_.erase(node);
    graphs_.erase(graph);
    return unjoined ? Refuse("EndCapture: a stream was not joined") : recorded.error();
  }
  return graph;
}

Result<Graph> RecordingRuntime::CreateGraph() {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("CreateGraph"));
  const auto graph = NextHandle<Graph>();
  graphs_[graph];
  return graph;
}

Status RecordingRuntime::DestroyGraph(Graph graph) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("DestroyGraph"));
  const auto found = graphs_.find(graph);
  if (found == graphs_.end()) return Refuse("DestroyGraph: not a graph");
  for (GraphNode node : found->second.nodes) nodes_.erase(node);
  graphs_.erase(found);
  return CheckUnused("DestroyGraph",
                     [graph](const ExecState& exec) { return exec.copied_from.contains(graph); });
}

Result<std::vector<GraphNode>> RecordingRuntime::Nodes(Graph graph) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("Nodes"));
  const auto found = graphs_.find(graph);
  if (found == graphs_.end()) return Refuse("Nodes: not a graph");
  return found->second.nodes;
}

Result<std::vector<GraphEdge>> RecordingRuntime::Edges(Graph graph) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("Edges"));
  const auto found = graphs_.find(graph);
  if (found == graphs_.end()) return Refuse("Edges: not a graph");
  return found->second.edges;
}

Result<NodeDescription::Kind> RecordingRuntime::NodeKind(GraphNode node) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("NodeKind"));
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return Refuse("NodeKind: not a node");
  return found->second.description.kind;
}

Result<NodeDescription> RecordingRuntime::DescribeNode(GraphNode node) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("DescribeNode"));
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return Refuse("DescribeNode: not a node");
  return found->second.description;
}

Result<GraphNode> RecordingRuntime::CopyNode(Graph graph, GraphNode node) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("CopyNode"));
  const auto found = nodes_.find(node);
  if (found == nodes_.end() || !graphs_.contains(graph)) return Refuse("CopyNode: not alive");
  NodeState copy = found->second;
  copy.copied_from.insert(copy.graph);
  return AddNode(graph, std::move(copy));
}

Status RecordingRuntime::SetNodePriority(GraphNode node, int priority) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("SetNodePriority"));
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return Refuse("SetNodePriority: not a node");
  NodeDescription& description = found->second.description;
  if (description.kind != NodeDescription::Kind::kKernel) {
    return Refuse("SetNodePriority: not a kernel's node");
  }
  description.priority = priority;
  return Ok();
}

Result<GraphNode> RecordingRuntime::AddEmptyNode(Graph graph) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("AddEmptyNode"));
  if (!graphs_.contains(graph)) return Refuse("AddEmptyNode: not a graph");
  NodeDescription description;
  description.kind = NodeDescription::Kind::kEmpty;
  return AddNode(graph, {.description = description});
}

Status RecordingRuntime::AddEdges(Graph graph, const std::vector<GraphEdge>& edges) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("AddEdges"));
  for (const GraphEdge& edge : edges) {
    for (GraphNode node : {edge.from, edge.to}) {
      const auto found = nodes_.find(node);
      if (found == nodes_.end() || found->second.graph != graph) {
        return Refuse("AddEdges: a node of another graph");
      }
    }
    for (const GraphEdge& known : graphs_[graph].edges) {
      if (known.from == edge.from && known.to == edge.to) return Refuse("AddEdges: twice");
    }
    graphs_[graph].edges.push_back(edge);
  }
  return Ok();
}

Result<RecordingRuntime::ExecState> RecordingRuntime::PlanOf(const GraphState& graph) const {
  std::map<GraphNode, int> waiting;
  std::map<GraphNode, double> start;
  std::map<GraphNode, std::vector<GraphNode>> after;
  for (const GraphEdge& edge : graph.edges) {
    const auto is_kernel = [this](GraphNode node) {
      return nodes_.at(node).description.kind == NodeDescription::Kind::kKernel;
    };
    if (edge.data.type != 0 && !(is_kernel(edge.from) && is_kernel(edge.to))) {
      return Refuse("Instantiate: a programmatic edge of a node that is no kernel");
    }
    ++waiting[edge.to];
    after[edge.from].push_back(edge.to);
  }
  std::vector<GraphNode> ready;
  for (GraphNode node : graph.nodes) {
    if (waiting[node] == 0) ready.push_back(node);
  }
  ExecState plan;
  for (const GraphEdge& edge : graph.edges) plan.programmatic_edges += edge.data.type != 0;
  for (size_t done = 0; done < ready.size(); ++done) {
    const NodeState& node = nodes_.at(ready[done]);
    const double end = start[ready[done]] + node.duration_us;
    plan.duration_us = std::max(plan.duration_us, end);
    if (node.effect) plan.effects.push_back(node.effect);
    plan.accesses.insert(plan.accesses.end(), node.accesses.begin(), node.accesses.end());
    if (node.description.kind == NodeDescription::Kind::kKernel) {
      plan.priorities.emplace(node.description.kernel, node.description.priority);
    }
    if (node.library != nullptr) plan.libraries.insert(node.library);
    plan.copied_from.insert(node.copied_from.begin(), node.copied_from.end());
    for (GraphNode next : after[ready[done]]) {
      start[next] = std::max(start[next], end);
      if (--waiting[next] == 0) ready.push_back(next);
    }
  }
  if (ready.size() != graph.nodes.size()) return Refuse("Instantiate: the graph has a cycle");
  PLAIT_CUDA_RETURN_IF_ERROR(CheckRaces(graph, ready));
  return plan;
}

Status RecordingRuntime::CheckRaces(const GraphState& graph,
                                    const std::vector<GraphNode>& order) const {
  // Which of the nodes that touch memory come before each node.
  std::map<GraphNode, std::set<GraphNode>> before;
  std::map<GraphNode, std::vector<GraphNode>> waits_for;
  for (const GraphEdge& edge : graph.edges) {
    // Over a programmatic edge the second may begin while the first still writes.
    if (edge.data.type == 0) waits_for[edge.to].push_back(edge.from);
  }
  std::vector<GraphNode> touching;
  for (GraphNode node : order) {
    std::set<GraphNode>& known = before[node];
    for (GraphNode earlier : waits_for[node]) {
      known.insert(before[earlier].begin(), before[earlier].end());
      if (!nodes_.at(earlier).accesses.empty()) known.insert(earlier);
    }
    for (const MemoryAccess& access : nodes_.at(node).accesses) {
      for (GraphNode other : touching) {
        for (const MemoryAccess& theirs : nodes_.at(other).accesses) {
          if (Conflict(access, theirs) && !known.contains(other)) {
            return Refuse("Instantiate: two nodes touch the same memory without an order: " +
                          nodes_.at(other).description.kernel + " and " +
                          nodes_.at(node).description.kernel);
          }
        }
      }
    }
    if (!nodes_.at(node).accesses.empty()) touching.push_back(node);
  }
  return Ok();
}

Result<GraphExec> RecordingRuntime::Instantiate(Graph graph) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("Instantiate"));
  const auto found = graphs_.find(graph);
  if (found == graphs_.end()) return Refuse("Instantiate: not a graph");
  const Result<ExecState> plan = PlanOf(found->second);
  if (!plan.ok()) return plan.error();
  const auto exec = NextHandle<GraphExec>();
  execs_[exec] = plan.value();
  return exec;
}

std::multimap<std::string, int> RecordingRuntime::Priorities() const {
  std::multimap<std::string, int> all;
  for (const auto& [exec, state] : execs_)
    all.insert(state.priorities.begin(), state.priorities.end());
  return all;
}

Status RecordingRuntime::UploadGraph(GraphExec exec, Stream stream) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("UploadGraph"));
  const auto found = streams_.find(stream);
  if (!execs_.contains(exec) || found == streams_.end() || found->second.capture != nullptr) {
    return Refuse("UploadGraph: no executable graph, or no stream, or one that captures");
  }
  return Ok();
}

int RecordingRuntime::ProgrammaticEdges() const {
  int count = 0;
  for (const auto& [exec, state] : execs_) count += state.programmatic_edges;
  return count;
}

Status RecordingRuntime::DestroyExec(GraphExec exec) {
  PLAIT_CUDA_RETURN_IF_ERROR(Record("DestroyExec"));
  if (execs_.erase(exec) == 0) return Refuse("DestroyExec: not an executable graph");
  return Ok();
}

}  // namespace plait::cuda
