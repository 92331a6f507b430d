#include <algorithm>
#include <map>
#include <variant>

#include "absl/strings/str_cat.h"
#include "gpu_worker/simulated_gpu/driver/driver_calls.h"

// Graphs, their edges, and their execution.

namespace plait::simulated_gpu {
namespace {

bool IsProgrammatic(const CUgraphEdgeData& data) {
  return data.type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
}

}  // namespace

CUgraph DriverCalls::MakeGraph() {
  const auto graph = NextHandle<CUgraph>();
  graphs_[graph];
  return graph;
}

CUresult DriverCalls::cuGraphCreate(CUgraph* graph, unsigned flags) {
  if (!initialized_) return CUDA_ERROR_NOT_INITIALIZED;
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  *graph = MakeGraph();
  return CUDA_SUCCESS;
}

CUresult DriverCalls::cuGraphDestroy(CUgraph handle) {
  const auto found = graphs_.find(handle);
  if (found == graphs_.end()) return CUDA_ERROR_INVALID_HANDLE;
  for (CUgraphNode node : found->second.nodes) nodes_.erase(node);
  graphs_.erase(found);
  return CUDA_SUCCESS;
}

// As many as there is room for; the number of all where there is none.
CUresult DriverCalls::cuGraphGetNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
  const auto found = graphs_.find(handle);
  if (found == graphs_.end()) return CUDA_ERROR_INVALID_HANDLE;
  const std::vector<CUgraphNode>& all = found->second.nodes;
  if (nodes == nullptr) {
    *count = all.size();
    return CUDA_SUCCESS;
  }
  for (size_t i = 0; i < *count; ++i) nodes[i] = i < all.size() ? all[i] : nullptr;
  *count = std::min(*count, all.size());
  return CUDA_SUCCESS;
}

CUresult DriverCalls::cuGraphGetEdges(CUgraph handle, CUgraphNode* from, CUgraphNode* to,
                                      CUgraphEdgeData* data, size_t* count) {
  const auto found = graphs_.find(handle);
  if (found == graphs_.end()) return CUDA_ERROR_INVALID_HANDLE;
  const std::vector<EdgeObject>& all = found->second.edges;
  if (from == nullptr || to == nullptr) {
    *count = all.size();
    return CUDA_SUCCESS;
  }
  *count = std::min(*count, all.size());
  for (size_t i = 0; i < *count; ++i) {
    // Whoever asks for no data must not miss any.
    if (data == nullptr && IsProgrammatic(all[i].data)) return CUDA_ERROR_LOSSY_QUERY;
    from[i] = all[i].from;
    to[i] = all[i].to;
    if (data != nullptr) data[i] = all[i].data;
  }
  return CUDA_SUCCESS;
}

// A programmatic edge is one from a kernel's port to a kernel.
CUresult DriverCalls::AddEdge(GraphObject* graph, CUgraph handle, const EdgeObject& edge) {
  const auto from = nodes_.find(edge.from), to = nodes_.find(edge.to);
  if (from == nodes_.end() || to == nodes_.end() || edge.from == edge.to ||
      from->second.graph != handle || to->second.graph != handle) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (const EdgeObject& other : graph->edges) {
    if (other.from == edge.from && other.to == edge.to) return CUDA_ERROR_INVALID_VALUE;
  }
  const CUgraphEdgeData& data = edge.data;
  const bool is_full = data.type == CU_GRAPH_DEPENDENCY_TYPE_DEFAULT && data.from_port == 0;
  const bool is_programmatic = IsProgrammatic(data) &&
                               (data.from_port == CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC ||
                                data.from_port == CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER) &&
                               std::holds_alternative<KernelCommand>(from->second.command) &&
                               std::holds_alternative<KernelCommand>(to->second.command);
  if (data.to_port != 0 || (!is_full && !is_programmatic)) return CUDA_ERROR_INVALID_VALUE;
  graph->edges.push_back(edge);
  return CUDA_SUCCESS;
}

CUresult DriverCalls::cuGraphAddDependencies(CUgraph handle, const CUgraphNode* from,
                                             const CUgraphNode* to, const CUgraphEdgeData* data,
                                             size_t count) {
  const auto found = graphs_.find(handle);
  if (found == graphs_.end()) return CUDA_ERROR_INVALID_HANDLE;
  for (size_t i = 0; i < count; ++i) {
    const EdgeObject edge = {from[i], to[i], data == nullptr ? CUgraphEdgeData{} : data[i]};
    if (const CUresult code = AddEdge(&found->second, handle, edge); code != CUDA_SUCCESS) {
      return code;
    }
  }
  return CUDA_SUCCESS;
}

std::vector<CUgraphNode> DriverCalls::Ordered(const GraphObject& graph) const {
  std::map<CUgraphNode, int> missing;
  std::map<CUgraphNode, std::vector<CUgraphNode>> next;
  for (const EdgeObject& edge : graph.edges) {
    ++missing[edge.to];
    next[edge.from].push_back(edge.to);
  }
  std::vector<CUgraphNode> order;
  for (CUgraphNode node : graph.nodes) {
    if (missing[node] == 0) order.push_back(node);
  }
  for (size_t i = 0; i < order.size(); ++i) {
    for (CUgraphNode node : next[order[i]]) {
      if (--missing[node] == 0) order.push_back(node);
    }
  }
  return order;
}

CUresult DriverCalls::MakeExec(const ContextObject& context, const GraphObject& graph,
                               ExecObject* exec) {
  const std::vector<CUgraphNode> order = Ordered(graph);
  if (order.size() != graph.nodes.size()) return CUDA_ERROR_INVALID_VALUE;  // a cycle
  std::map<CUgraphNode, size_t> places;
  for (CUgraphNode handle : order) {
    places[handle] = exec->nodes.size();
    const auto number = std::find(graph.nodes.begin(), graph.nodes.end(), handle);
    const Command& command = nodes_.at(handle).command;
    exec->nodes.push_back(
        {absl::StrCat("node ", number - graph.nodes.begin(), " (", NameOf(command), ")"),
         command,
         {},
         {}});
  }
  for (const EdgeObject& edge : graph.edges) {
    ExecNode& to = exec->nodes[places[edge.to]];
    if (!IsProgrammatic(edge.data)) {
      to.after.push_back(places[edge.from]);
      continue;
    }
    // griddepcontrol, by which a kernel waits, is there since compute capability 9.0.
    if (options_.devices[context.device].sm_major < 9) return CUDA_ERROR_NOT_SUPPORTED;
    to.after_trigger.push_back(places[edge.from]);
  }
  return CUDA_SUCCESS;
}

CUresult DriverCalls::cuGraphInstantiate(CUgraphExec* handle, CUgraph graph,
                                         unsigned long long flags) {
  ContextObject* context = nullptr;
  if (const CUresult code = Enter(&context); code != CUDA_SUCCESS) return code;
  if (flags != 0) return CUDA_ERROR_NOT_SUPPORTED;
  const auto found = graphs_.find(graph);
  if (found == graphs_.end()) return CUDA_ERROR_INVALID_HANDLE;
  ExecObject exec;
  if (const CUresult code = MakeExec(*context, found->second, &exec); code != CUDA_SUCCESS) {
    return code;
  }
  *handle = NextHandle<CUgraphExec>();
  context->execs[*handle] = std::move(exec);
  return CUDA_SUCCESS;
}

CUresult DriverCalls::cuGraphExecDestroy(CUgraphExec handle) {
  ContextObject* context = nullptr;
  if (const CUresult code = Enter(&context); code != CUDA_SUCCESS) return code;
  return context->execs.erase(handle) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult DriverCalls::cuGraphUpload(CUgraphExec handle, CUstream stream_handle) {
  ContextObject* context = nullptr;
  StreamObject* stream = nullptr;
  if (const CUresult code = FindStream(stream_handle, &context, &stream); code != CUDA_SUCCESS) {
    return code;
  }
  if (context->execs.count(handle) == 0) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  stream->last = Enqueue(context, "upload of a graph", {}, {stream->last});
  return CUDA_SUCCESS;
}

// Every node becomes an operation of its own. A launch begins after the one before of the same
// executable graph.
CUresult DriverCalls::cuGraphLaunch(CUgraphExec handle, CUstream stream_handle) {
  ContextObject* context = nullptr;
  StreamObject* stream = nullptr;
  if (const CUresult code = FindStream(stream_handle, &context, &stream); code != CUDA_SUCCESS) {
    return code;
  }
  const auto found = context->execs.find(handle);
  if (found == context->execs.end()) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  ExecObject& exec = found->second;
  for (const ExecNode& node : exec.nodes) {
    const auto* kernel = std::get_if<KernelCommand>(&node.command);
    if (kernel == nullptr || kernels_.count(kernel->kernel) != 0) continue;
    return Sticky(
        context, absl::OutOfRangeError(absl::StrCat(node.name, ": its library has been unloaded")));
  }
  ++graph_launches_;
  const OperationRef begin = Enqueue(context, "a graph's begin", {}, {stream->last, exec.last});
  std::vector<OperationRef> operations;
  for (const ExecNode& node : exec.nodes) {
    Operation operation;
    operation.name = node.name;
    operation.graph_launch = graph_launches_;
    operation.action = MakeAction(node.command, &context->memory, context->queue.NextSeed(),
                                  options_.instructions_max, !node.after_trigger.empty());
    operation.after = {begin};
    for (size_t other : node.after) operation.after.push_back(operations[other]);
    for (size_t other : node.after_trigger) operation.after_trigger.push_back(operations[other]);
    operations.push_back(context->queue.Enqueue(std::move(operation)));
  }
  operations.push_back(begin);
  exec.last = stream->last = Enqueue(context, "a graph's end", {}, std::move(operations));
  return CUDA_SUCCESS;
}

}  // namespace plait::simulated_gpu
