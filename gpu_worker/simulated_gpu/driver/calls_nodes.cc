#include <algorithm>
#include <variant>

#include "gpu_worker/simulated_gpu/driver/driver_calls.h"

// Nodes of graphs that are not executable.

namespace plait::simulated_gpu {

CUgraphNode DriverCalls::AddNode(CUgraph graph, Command command,
                                 const std::vector<CUgraphNode>& after) {
  const auto node = NextHandle<CUgraphNode>();
  nodes_[node] = {graph, std::move(command), 0};
  GraphObject& object = graphs_[graph];
  object.nodes.push_back(node);
  for (CUgraphNode other : after) object.edges.push_back({other, node, {}});
  return node;
}

CUresult DriverCalls::AddNodeTo(CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                                size_t count, Command command) {
  if (graphs_.count(graph) == 0) return CUDA_ERROR_INVALID_HANDLE;
  if (count > 0 && after == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::vector<CUgraphNode> others(after, after + count);
  for (CUgraphNode other : others) {
    const auto found = nodes_.find(other);
    if (found == nodes_.end() || found->second.graph != graph) return CUDA_ERROR_INVALID_VALUE;
  }
  *node = AddNode(graph, std::move(command), others);
  return CUDA_SUCCESS;
}

template <typename Of>
CUresult DriverCalls::FindNode(CUgraphNode handle, NodeObject** node, Of** command) {
  const auto found = nodes_.find(handle);
  if (found == nodes_.end()) return CUDA_ERROR_INVALID_HANDLE;
  *node = &found->second;
  *command = std::get_if<Of>(&found->second.command);
  return *command == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult DriverCalls::cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType* type) {
  const auto found = nodes_.find(handle);
  if (found == nodes_.end()) return CUDA_ERROR_INVALID_HANDLE;
  static constexpr CUgraphNodeType kTypes[] = {CU_GRAPH_NODE_TYPE_EMPTY, CU_GRAPH_NODE_TYPE_KERNEL,
                                               CU_GRAPH_NODE_TYPE_MEMCPY,
                                               CU_GRAPH_NODE_TYPE_MEMSET};
  *type = kTypes[found->second.command.index()];
  return CUDA_SUCCESS;
}

// A kernel of a library is `kern`, and not `func`.
CUresult DriverCalls::cuGraphKernelNodeGetParams(CUgraphNode handle,
                                                 CUDA_KERNEL_NODE_PARAMS* params) {
  NodeObject* node = nullptr;
  KernelCommand* kernel = nullptr;
  if (const CUresult code = FindNode(handle, &node, &kernel); code != CUDA_SUCCESS) return code;
  *params = {};
  params->kern = kernel->kernel;
  params->gridDimX = kernel->shape.grid[0];
  params->gridDimY = kernel->shape.grid[1];
  params->gridDimZ = kernel->shape.grid[2];
  params->blockDimX = kernel->shape.block[0];
  params->blockDimY = kernel->shape.block[1];
  params->blockDimZ = kernel->shape.block[2];
  params->kernelParams = kernel->arguments->pointers.data();
  return CUDA_SUCCESS;
}

CUresult DriverCalls::cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph,
                                           const CUgraphNode* after, size_t count,
                                           const CUDA_KERNEL_NODE_PARAMS* params) {
  if (params->extra != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  const CUkernel kernel =
      params->func != nullptr ? reinterpret_cast<CUkernel>(params->func) : params->kern;
  KernelCommand command;
  const LaunchShape shape = {{params->gridDimX, params->gridDimY, params->gridDimZ},
                             {params->blockDimX, params->blockDimY, params->blockDimZ}};
  if (const CUresult code =
          MakeKernelCommand(kernel, shape, params->sharedMemBytes, params->kernelParams, &command);
      code != CUDA_SUCCESS) {
    return code;
  }
  return AddNodeTo(node, graph, after, count, std::move(command));
}

CUresult DriverCalls::cuGraphKernelNodeCopyAttributes(CUgraphNode to_handle,
                                                      CUgraphNode from_handle) {
  NodeObject *to = nullptr, *from = nullptr;
  KernelCommand* kernel = nullptr;
  if (const CUresult code = FindNode(to_handle, &to, &kernel); code != CUDA_SUCCESS) return code;
  if (const CUresult code = FindNode(from_handle, &from, &kernel); code != CUDA_SUCCESS) {
    return code;
  }
  to->priority = from->priority;
  return CUDA_SUCCESS;
}

CUresult DriverCalls::cuGraphKernelNodeSetAttribute(CUgraphNode handle,
                                                    CUkernelNodeAttrID attribute,
                                                    const CUkernelNodeAttrValue* value) {
  NodeObject* node = nullptr;
  KernelCommand* kernel = nullptr;
  if (const CUresult code = FindNode(handle, &node, &kernel); code != CUDA_SUCCESS) return code;
  if (attribute != CU_KERNEL_NODE_ATTRIBUTE_PRIORITY) return CUDA_ERROR_NOT_SUPPORTED;
  node->priority = value->priority;
  return CUDA_SUCCESS;
}

CUresult DriverCalls::cuGraphMemsetNodeGetParams(CUgraphNode handle,
                                                 CUDA_MEMSET_NODE_PARAMS* params) {
  NodeObject* node = nullptr;
  FillCommand* fill = nullptr;
  if (const CUresult code = FindNode(handle, &node, &fill); code != CUDA_SUCCESS) return code;
  *params = {};
  params->dst = fill->to;
  params->value = fill->byte;
  params->elementSize = 1;
  params->width = fill->bytes;
  params->height = 1;
  return CUDA_SUCCESS;
}

CUresult DriverCalls::cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph,
                                           const CUgraphNode* after, size_t count,
                                           const CUDA_MEMSET_NODE_PARAMS* params,
                                           CUcontext /*context*/) {
  ContextObject* context = nullptr;
  if (const CUresult code = Enter(&context); code != CUDA_SUCCESS) return code;
  if (params->elementSize != 1 || params->height != 1) return CUDA_ERROR_NOT_SUPPORTED;
  const FillCommand fill = {params->dst, static_cast<unsigned char>(params->value), params->width};
  if (const CUresult code = CheckFill(context, fill); code != CUDA_SUCCESS) return code;
  return AddNodeTo(node, graph, after, count, fill);
}

CUresult DriverCalls::cuGraphMemcpyNodeGetParams(CUgraphNode handle, CUDA_MEMCPY3D* params) {
  NodeObject* node = nullptr;
  CopyCommand* copy = nullptr;
  if (const CUresult code = FindNode(handle, &node, &copy); code != CUDA_SUCCESS) return code;
  *params = {};
  params->srcMemoryType = copy->from_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  params->dstMemoryType = copy->to_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  if (copy->from_host) {
    params->srcHost = reinterpret_cast<const void*>(copy->from);
  } else {
    params->srcDevice = copy->from;
  }
  if (copy->to_host) {
    params->dstHost = reinterpret_cast<void*>(copy->to);
  } else {
    params->dstDevice = copy->to;
  }
  params->WidthInBytes = copy->bytes;
  params->Height = params->Depth = 1;
  return CUDA_SUCCESS;
}

CUresult DriverCalls::cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph,
                                           const CUgraphNode* after, size_t count,
                                           const CUDA_MEMCPY3D* params, CUcontext /*context*/) {
  ContextObject* context = nullptr;
  if (const CUresult code = Enter(&context); code != CUDA_SUCCESS) return code;
  const auto is_plain = [](CUmemorytype type) {
    return type == CU_MEMORYTYPE_HOST || type == CU_MEMORYTYPE_DEVICE;
  };
  if (params->Height != 1 || params->Depth != 1 || !is_plain(params->srcMemoryType) ||
      !is_plain(params->dstMemoryType)) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  CopyCommand copy;
  copy.from_host = params->srcMemoryType == CU_MEMORYTYPE_HOST;
  copy.to_host = params->dstMemoryType == CU_MEMORYTYPE_HOST;
  copy.from = copy.from_host ? reinterpret_cast<uint64_t>(params->srcHost) : params->srcDevice;
  copy.to = copy.to_host ? reinterpret_cast<uint64_t>(params->dstHost) : params->dstDevice;
  copy.bytes = params->WidthInBytes;
  if (const CUresult code = MakeCopy(context, &copy); code != CUDA_SUCCESS) return code;
  return AddNodeTo(node, graph, after, count, std::move(copy));
}

CUresult DriverCalls::cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph,
                                          const CUgraphNode* after, size_t count) {
  return AddNodeTo(node, graph, after, count, {});
}

}  // namespace plait::simulated_gpu
