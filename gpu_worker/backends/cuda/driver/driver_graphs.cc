#include <algorithm>
#include <string>

#include "gpu_worker/backends/cuda/driver/driver_runtime.h"

namespace plait::cuda {
namespace {

// Only these three fields have a meaning; the rest of CUDA's struct is reserved and zero.
EdgeData FromCuda(const CUgraphEdgeData& data) { return {data.from_port, data.to_port, data.type}; }

CUgraphEdgeData ToCuda(const EdgeData& data) {
  CUgraphEdgeData result = {};
  result.from_port = data.from_port;
  result.to_port = data.to_port;
  result.type = data.type;
  return result;
}

}  // namespace

// Relaxed: calls that CUDA holds to be unsafe while capturing, such as an allocation inside of a
// library's launch, do not end the capture.
Status DriverRuntime::BeginCapture(Stream stream) {
  return Call(PLAIT_DRIVER_CALL(cuStreamBeginCapture), stream, CU_STREAM_CAPTURE_MODE_RELAXED);
}

Result<Graph> DriverRuntime::EndCapture(Stream stream) {
  Graph graph = nullptr;
  PLAIT_CUDA_RETURN_IF_ERROR(Call(PLAIT_DRIVER_CALL(cuStreamEndCapture), stream, &graph));
  return graph;
}

Result<Graph> DriverRuntime::CreateGraph() {
  Graph graph = nullptr;
  PLAIT_CUDA_RETURN_IF_ERROR(Call(PLAIT_DRIVER_CALL(cuGraphCreate), &graph, 0U));
  return graph;
}

Status DriverRuntime::DestroyGraph(Graph graph) {
  return Call(PLAIT_DRIVER_CALL(cuGraphDestroy), graph);
}

// Asked twice, first for the number.
Result<std::vector<GraphNode>> DriverRuntime::Nodes(Graph graph) {
  size_t count = 0;
  PLAIT_CUDA_RETURN_IF_ERROR(Call(PLAIT_DRIVER_CALL(cuGraphGetNodes), graph, nullptr, &count));
  std::vector<GraphNode> nodes(count);
  PLAIT_CUDA_RETURN_IF_ERROR(Call(PLAIT_DRIVER_CALL(cuGraphGetNodes), graph, nodes.data(), &count));
  return nodes;
}

Result<std::vector<GraphEdge>> DriverRuntime::Edges(Graph graph) {
  size_t count = 0;
  PLAIT_CUDA_RETURN_IF_ERROR(
      Call(PLAIT_DRIVER_CALL(cuGraphGetEdges), graph, nullptr, nullptr, nullptr, &count));
  std::vector<GraphNode> from(count), to(count);
  std::vector<CUgraphEdgeData> data(count);
  PLAIT_CUDA_RETURN_IF_ERROR(
      Call(PLAIT_DRIVER_CALL(cuGraphGetEdges), graph, from.data(), to.data(), data.data(), &count));
  std::vector<GraphEdge> edges;
  for (size_t i = 0; i < count; ++i) edges.push_back({from[i], to[i], FromCuda(data[i])});
  return edges;
}

Result<NodeDescription::Kind> DriverRuntime::NodeKind(GraphNode node) {
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  PLAIT_CUDA_RETURN_IF_ERROR(Call(PLAIT_DRIVER_CALL(cuGraphNodeGetType), node, &type));
  if (type == CU_GRAPH_NODE_TYPE_EMPTY) return NodeDescription::Kind::kEmpty;
  if (type == CU_GRAPH_NODE_TYPE_MEMSET) return NodeDescription::Kind::kMemset;
  if (type == CU_GRAPH_NODE_TYPE_MEMCPY) return NodeDescription::Kind::kMemcpy;
  if (type == CU_GRAPH_NODE_TYPE_KERNEL) return NodeDescription::Kind::kKernel;
  return NodeDescription::Kind::kOther;
}

Status DriverRuntime::DescribeKernel(GraphNode node, NodeDescription* description) {
  CUDA_KERNEL_NODE_PARAMS params = {};
  PLAIT_CUDA_RETURN_IF_ERROR(Call(PLAIT_DRIVER_CALL(cuGraphKernelNodeGetParams), node, &params));
  description->grid = {params.gridDimX, params.gridDimY, params.gridDimZ};
  description->block = {params.blockDimX, params.blockDimY, params.blockDimZ};
  CUfunction function = params.func;
  // A kernel of a library that was loaded by itself (cuLibraryLoadData) has no function until one
  // is asked for in the current context.
  if (function == nullptr) {
    PLAIT_CUDA_RETURN_IF_ERROR(
        Call(PLAIT_DRIVER_CALL(cuKernelGetFunction), &function, params.kern));
  }
  const char* name = nullptr;
  PLAIT_CUDA_RETURN_IF_ERROR(Call(PLAIT_DRIVER_CALL(cuFuncGetName), &name, function));
  description->kernel = name;
  int static_bytes = 0;
  PLAIT_CUDA_RETURN_IF_ERROR(Call(PLAIT_DRIVER_CALL(cuFuncGetAttribute), &description->registers,
                                  CU_FUNC_ATTRIBUTE_NUM_REGS, function));
  PLAIT_CUDA_RETURN_IF_ERROR(Call(PLAIT_DRIVER_CALL(cuFuncGetAttribute), &static_bytes,
                                  CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function));
  description->shared_bytes = static_bytes + static_cast<int>(params.sharedMemBytes);
  const int threads = static_cast<int>(params.blockDimX * params.blockDimY * params.blockDimZ);
  PLAIT_CUDA_RETURN_IF_ERROR(Call(PLAIT_DRIVER_CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor),
                                  &description->blocks_per_multiprocessor, function, threads,
                                  static_cast<size_t>(params.sharedMemBytes)));
  const Result<int> threads_max = Attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  if (!threads_max.ok()) return threads_max.error();
  description->occupancy =
      static_cast<double>(description->blocks_per_multiprocessor) * threads / threads_max.value();
  return Ok();
}

Result<NodeDescription> DriverRuntime::DescribeNode(GraphNode node) {
  const Result<NodeDescription::Kind> kind = NodeKind(node);
  if (!kind.ok()) return kind.error();
  NodeDescription description;
  description.kind = kind.value();
  // Only kernels take registers and shared memory.
  if (kind.value() != NodeDescription::Kind::kKernel) return description;
  PLAIT_CUDA_RETURN_IF_ERROR(DescribeKernel(node, &description));
  return description;
}

Result<GraphNode> DriverRuntime::CopyKernelNode(Graph graph, GraphNode node) {
  CUDA_KERNEL_NODE_PARAMS params = {};
  GraphNode copy = nullptr;
  PLAIT_CUDA_RETURN_IF_ERROR(Call(PLAIT_DRIVER_CALL(cuGraphKernelNodeGetParams), node, &params));
  PLAIT_CUDA_RETURN_IF_ERROR(
      Call(PLAIT_DRIVER_CALL(cuGraphAddKernelNode), &copy, graph, nullptr, size_t{0}, &params));
  // Cluster sizes and priorities are attributes, not parameters.
  PLAIT_CUDA_RETURN_IF_ERROR(Call(PLAIT_DRIVER_CALL(cuGraphKernelNodeCopyAttributes), copy, node));
  return copy;
}

Result<GraphNode> DriverRuntime::CopyMemsetNode(Graph graph, GraphNode node) {
  CUDA_MEMSET_NODE_PARAMS params = {};
  GraphNode copy = nullptr;
  PLAIT_CUDA_RETURN_IF_ERROR(Call(PLAIT_DRIVER_CALL(cuGraphMemsetNodeGetParams), node, &params));
  PLAIT_CUDA_RETURN_IF_ERROR(Call(PLAIT_DRIVER_CALL(cuGraphAddMemsetNode), &copy, graph, nullptr,
                                  size_t{0}, &params, context_));
  return copy;
}

Result<GraphNode> DriverRuntime::CopyMemcpyNode(Graph graph, GraphNode node) {
  CUDA_MEMCPY3D params = {};
  GraphNode copy = nullptr;
  PLAIT_CUDA_RETURN_IF_ERROR(Call(PLAIT_DRIVER_CALL(cuGraphMemcpyNodeGetParams), node, &params));
  PLAIT_CUDA_RETURN_IF_ERROR(Call(PLAIT_DRIVER_CALL(cuGraphAddMemcpyNode), &copy, graph, nullptr,
                                  size_t{0}, &params, context_));
  return copy;
}

// Only the kinds of nodes that captures of our operations have; another kind would be copied
// wrongly or without its resources, and is refused instead.
Result<GraphNode> DriverRuntime::CopyNode(Graph graph, GraphNode node) {
  const Result<NodeDescription::Kind> kind = NodeKind(node);
  if (!kind.ok()) return kind.error();
  switch (kind.value()) {
    case NodeDescription::Kind::kKernel:
      return CopyKernelNode(graph, node);
    case NodeDescription::Kind::kMemset:
      return CopyMemsetNode(graph, node);
    case NodeDescription::Kind::kMemcpy:
      return CopyMemcpyNode(graph, node);
    case NodeDescription::Kind::kEmpty:
      return AddEmptyNode(graph);
    case NodeDescription::Kind::kOther:
      break;
  }
  return Error{ErrorCode::kUnsupported, "a graph's node that is no kernel, copy or fill"};
}

Status DriverRuntime::SetNodePriority(GraphNode node, int priority) {
  CUkernelNodeAttrValue value = {};
  value.priority = priority;
  return Call(PLAIT_DRIVER_CALL(cuGraphKernelNodeSetAttribute), node,
              CU_KERNEL_NODE_ATTRIBUTE_PRIORITY, &value);
}

Result<GraphNode> DriverRuntime::AddEmptyNode(Graph graph) {
  GraphNode node = nullptr;
  PLAIT_CUDA_RETURN_IF_ERROR(
      Call(PLAIT_DRIVER_CALL(cuGraphAddEmptyNode), &node, graph, nullptr, size_t{0}));
  return node;
}

// All in one call: CUDA takes arrays, one entry per edge. Before compute capability 9.0 no kernel
// can wait for another (griddepcontrol), so that every edge is full there.
Status DriverRuntime::AddEdges(Graph graph, const std::vector<GraphEdge>& edges) {
  const bool has_programmatic = std::any_of(
      edges.begin(), edges.end(), [](const GraphEdge& edge) { return edge.data.type != 0; });
  bool is_full = false;
  if (has_programmatic) {
    const Result<int> major = Attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    if (!major.ok()) return major.error();
    is_full = major.value() < 9;
  }
  std::vector<GraphNode> from, to;
  std::vector<CUgraphEdgeData> data;
  for (const GraphEdge& edge : edges) {
    from.push_back(edge.from);
    to.push_back(edge.to);
    data.push_back(ToCuda(is_full ? EdgeData{} : edge.data));
  }
  return Call(PLAIT_DRIVER_CALL(cuGraphAddDependencies), graph, from.data(), to.data(), data.data(),
              edges.size());
}

Result<GraphExec> DriverRuntime::Instantiate(Graph graph) {
  GraphExec exec = nullptr;
  PLAIT_CUDA_RETURN_IF_ERROR(Call(PLAIT_DRIVER_CALL(cuGraphInstantiate), &exec, graph, 0ULL));
  return exec;
}

Status DriverRuntime::DestroyExec(GraphExec exec) {
  return Call(PLAIT_DRIVER_CALL(cuGraphExecDestroy), exec);
}

Status DriverRuntime::UploadGraph(GraphExec exec, Stream stream) {
  return Call(PLAIT_DRIVER_CALL(cuGraphUpload), exec, stream);
}

Status DriverRuntime::LaunchGraph(GraphExec exec, Stream stream) {
  return Call(PLAIT_DRIVER_CALL(cuGraphLaunch), exec, stream);
}

}  // namespace plait::cuda
