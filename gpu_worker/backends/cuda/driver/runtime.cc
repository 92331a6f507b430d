#include "gpu_worker/backends/cuda/driver/runtime.h"

#include <string>

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace plait::cuda {
namespace {

// These three come where no GPU can be used at all, and are the machine's state, not a failure.
Error CudaError(const char* call, cudaError_t code) {
  const bool missing = code == cudaErrorInsufficientDriver || code == cudaErrorNoDevice ||
                       code == cudaErrorSystemDriverMismatch;
  return Error{
      missing ? ErrorCode::kUnavailable : ErrorCode::kDevice,
      std::string(call) + ": " + cudaGetErrorString(code) + " (" + std::to_string(code) + ")"};
}

// Takes the error out of the runtime's memory, so that the next call does not report it again.
Status Check(const char* call, cudaError_t code) {
  if (code == cudaSuccess) return Ok();
  static_cast<void>(cudaGetLastError());
  return CudaError(call, code);
}

Status CheckDriver(const char* call, CUresult code) {
  if (code == CUDA_SUCCESS) return Ok();
  return Error{ErrorCode::kDevice, std::string(call) + ": driver error " + std::to_string(code)};
}

// Kernels of libraries that use the driver's interface are unknown to the runtime's graph
// functions, so that nodes are read and copied through the driver.
struct Driver {
  decltype(&cuGraphKernelNodeGetParams) get_params = nullptr;
  decltype(&cuGraphAddKernelNode) add_kernel = nullptr;
  decltype(&cuGraphKernelNodeCopyAttributes) copy_attributes = nullptr;
  decltype(&cuKernelGetFunction) kernel_function = nullptr;
  decltype(&cuFuncGetName) function_name = nullptr;
  decltype(&cuFuncGetAttribute) function_attribute = nullptr;
  decltype(&cuOccupancyMaxActiveBlocksPerMultiprocessor) occupancy = nullptr;
  std::string missing;  // the first function that was not found
};

template <typename Function>
// Not linked: a program that needs libcuda.so.1 does not start on a machine without a driver.
void Find(const char* name, Function* function, Driver* driver) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t code =
      cudaGetDriverEntryPointByVersion(name, &address, CUDART_VERSION, cudaEnableDefault, &found);
  if (code != cudaSuccess || found != cudaDriverEntryPointSuccess) {
    static_cast<void>(cudaGetLastError());
    if (driver->missing.empty()) driver->missing = name;
    return;
  }
  *function = reinterpret_cast<Function>(address);
}

Driver LoadDriver() {
  Driver driver;
  Find("cuGraphKernelNodeGetParams", &driver.get_params, &driver);
  Find("cuGraphAddKernelNode", &driver.add_kernel, &driver);
  Find("cuGraphKernelNodeCopyAttributes", &driver.copy_attributes, &driver);
  Find("cuKernelGetFunction", &driver.kernel_function, &driver);
  Find("cuFuncGetName", &driver.function_name, &driver);
  Find("cuFuncGetAttribute", &driver.function_attribute, &driver);
  Find("cuOccupancyMaxActiveBlocksPerMultiprocessor", &driver.occupancy, &driver);
  return driver;
}

// Looked up once; a process does not get a driver later.
Result<const Driver*> GetDriver() {
  static const Driver driver = LoadDriver();
  if (driver.missing.empty()) return &driver;
  return Error{ErrorCode::kUnavailable, "CUDA driver: no function " + driver.missing};
}

// Only these three fields have a meaning; the rest of CUDA's struct is reserved and zero.
EdgeData FromCuda(const cudaGraphEdgeData& data) {
  return {data.from_port, data.to_port, data.type};
}

cudaGraphEdgeData ToCuda(const EdgeData& data) {
  cudaGraphEdgeData result = {};
  result.from_port = data.from_port;
  result.to_port = data.to_port;
  result.type = data.type;
  return result;
}

Status DescribeKernel(const Driver& driver, GraphNode node, NodeDescription* description) {
  CUDA_KERNEL_NODE_PARAMS params = {};
  PLAIT_CUDA_RETURN_IF_ERROR(
      CheckDriver("cuGraphKernelNodeGetParams", driver.get_params(node, &params)));
  description->grid = {params.gridDimX, params.gridDimY, params.gridDimZ};
  description->block = {params.blockDimX, params.blockDimY, params.blockDimZ};
  CUfunction function = params.func;
  // A kernel of a library that was loaded by itself (cuLibraryLoadData) has no function until one
  // is asked for in the current context.
  if (function == nullptr) {
    PLAIT_CUDA_RETURN_IF_ERROR(
        CheckDriver("cuKernelGetFunction", driver.kernel_function(&function, params.kern)));
  }
  const char* name = nullptr;
  PLAIT_CUDA_RETURN_IF_ERROR(CheckDriver("cuFuncGetName", driver.function_name(&name, function)));
  description->kernel = name;
  int static_bytes = 0, threads_max = 0;
  PLAIT_CUDA_RETURN_IF_ERROR(CheckDriver(
      "cuFuncGetAttribute",
      driver.function_attribute(&description->registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function)));
  PLAIT_CUDA_RETURN_IF_ERROR(CheckDriver(
      "cuFuncGetAttribute",
      driver.function_attribute(&static_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function)));
  description->shared_bytes = static_bytes + static_cast<int>(params.sharedMemBytes);
  const int threads = static_cast<int>(params.blockDimX * params.blockDimY * params.blockDimZ);
  PLAIT_CUDA_RETURN_IF_ERROR(
      CheckDriver("cuOccupancyMaxActiveBlocksPerMultiprocessor",
                  driver.occupancy(&description->blocks_per_multiprocessor, function, threads,
                                   params.sharedMemBytes)));
  int device = 0;
  PLAIT_CUDA_RETURN_IF_ERROR(Check("cudaGetDevice", cudaGetDevice(&device)));
  PLAIT_CUDA_RETURN_IF_ERROR(
      Check("cudaDeviceGetAttribute",
            cudaDeviceGetAttribute(&threads_max, cudaDevAttrMaxThreadsPerMultiProcessor, device)));
  description->occupancy =
      static_cast<double>(description->blocks_per_multiprocessor) * threads / threads_max;
  return Ok();
}

class RealRuntime : public Runtime {
 public:
  Result<DeviceFacts> Describe() override {
    int device = 0;
    cudaDeviceProp properties = {};
    DeviceFacts facts;
    PLAIT_CUDA_RETURN_IF_ERROR(Check("cudaGetDevice", cudaGetDevice(&device)));
    PLAIT_CUDA_RETURN_IF_ERROR(
        Check("cudaGetDeviceProperties", cudaGetDeviceProperties(&properties, device)));
    PLAIT_CUDA_RETURN_IF_ERROR(
        Check("cudaDriverGetVersion", cudaDriverGetVersion(&facts.driver_version)));
    PLAIT_CUDA_RETURN_IF_ERROR(
        Check("cudaRuntimeGetVersion", cudaRuntimeGetVersion(&facts.runtime_version)));
    facts.name = properties.name;
    facts.sm_major = properties.major;
    facts.sm_minor = properties.minor;
    facts.multiprocessors = properties.multiProcessorCount;
    facts.threads_per_multiprocessor = properties.maxThreadsPerMultiProcessor;
    facts.l2_bytes = properties.l2CacheSize;
    facts.memory_bytes = static_cast<int64_t>(properties.totalGlobalMem);
    return facts;
  }

  // The first call takes the error of earlier work with it; only one that stays is reported.
  Status CheckHealth() override {
    static_cast<void>(cudaDeviceSynchronize());
    static_cast<void>(cudaGetLastError());
    return Check("cudaDeviceSynchronize", cudaDeviceSynchronize());
  }

  Result<void*> Allocate(size_t bytes) override {
    void* memory = nullptr;
    PLAIT_CUDA_RETURN_IF_ERROR(Check("cudaMalloc", cudaMalloc(&memory, bytes)));
    return memory;
  }
  Status Free(void* memory) override { return Check("cudaFree", cudaFree(memory)); }
  Result<void*> AllocateHost(size_t bytes) override {
    void* memory = nullptr;
    PLAIT_CUDA_RETURN_IF_ERROR(Check("cudaMallocHost", cudaMallocHost(&memory, bytes)));
    return memory;
  }
  Status FreeHost(void* memory) override { return Check("cudaFreeHost", cudaFreeHost(memory)); }
  Status CopyToDevice(void* to, const void* from, size_t bytes, Stream stream) override {
    return Check("cudaMemcpyAsync to device",
                 cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream));
  }
  Status CopyToHost(void* to, const void* from, size_t bytes, Stream stream) override {
    return Check("cudaMemcpyAsync to host",
                 cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream));
  }
  Status CopyOnDevice(void* to, const void* from, size_t bytes, Stream stream) override {
    return Check("cudaMemcpyAsync",
                 cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream));
  }
  Status Fill(void* memory, int byte, size_t bytes, Stream stream) override {
    return Check("cudaMemsetAsync", cudaMemsetAsync(memory, byte, bytes, stream));
  }

  Result<Stream> CreateStream(int priority) override {
    Stream stream = nullptr;
    PLAIT_CUDA_RETURN_IF_ERROR(
        Check("cudaStreamCreateWithPriority",
              cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, priority)));
    return stream;
  }
  Status DestroyStream(Stream stream) override {
    return Check("cudaStreamDestroy", cudaStreamDestroy(stream));
  }
  Status Synchronize(Stream stream) override {
    return Check("cudaStreamSynchronize", cudaStreamSynchronize(stream));
  }
  Status WaitForEvent(Stream stream, Event event) override {
    return Check("cudaStreamWaitEvent", cudaStreamWaitEvent(stream, event, 0));
  }

  Result<Event> CreateEvent() override {
    Event event = nullptr;
    PLAIT_CUDA_RETURN_IF_ERROR(Check("cudaEventCreate", cudaEventCreate(&event)));
    return event;
  }
  Status DestroyEvent(Event event) override {
    return Check("cudaEventDestroy", cudaEventDestroy(event));
  }
  Status RecordEvent(Event event, Stream stream) override {
    return Check("cudaEventRecord", cudaEventRecord(event, stream));
  }
  // CUDA counts milliseconds.
  Result<double> ElapsedUs(Event begin, Event end) override {
    float ms = 0;
    PLAIT_CUDA_RETURN_IF_ERROR(
        Check("cudaEventElapsedTime", cudaEventElapsedTime(&ms, begin, end)));
    return 1000.0 * ms;
  }

  // Relaxed: calls that CUDA holds to be unsafe while capturing, such as an allocation inside of a
  // library's launch, do not end the capture.
  Status BeginCapture(Stream stream) override {
    return Check("cudaStreamBeginCapture",
                 cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  }
  Result<Graph> EndCapture(Stream stream) override {
    Graph graph = nullptr;
    PLAIT_CUDA_RETURN_IF_ERROR(Check("cudaStreamEndCapture", cudaStreamEndCapture(stream, &graph)));
    return graph;
  }

  Result<Graph> CreateGraph() override {
    Graph graph = nullptr;
    PLAIT_CUDA_RETURN_IF_ERROR(Check("cudaGraphCreate", cudaGraphCreate(&graph, 0)));
    return graph;
  }
  Status DestroyGraph(Graph graph) override {
    return Check("cudaGraphDestroy", cudaGraphDestroy(graph));
  }
  Result<std::vector<GraphNode>> Nodes(Graph graph) override {
    size_t count = 0;
    PLAIT_CUDA_RETURN_IF_ERROR(
        Check("cudaGraphGetNodes", cudaGraphGetNodes(graph, nullptr, &count)));
    std::vector<GraphNode> nodes(count);
    PLAIT_CUDA_RETURN_IF_ERROR(
        Check("cudaGraphGetNodes", cudaGraphGetNodes(graph, nodes.data(), &count)));
    return nodes;
  }
  Result<std::vector<GraphEdge>> Edges(Graph graph) override;
  Result<NodeDescription::Kind> NodeKind(GraphNode node) override {
    cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    PLAIT_CUDA_RETURN_IF_ERROR(Check("cudaGraphNodeGetType", cudaGraphNodeGetType(node, &type)));
    if (type == cudaGraphNodeTypeEmpty) return NodeDescription::Kind::kEmpty;
    if (type == cudaGraphNodeTypeMemset) return NodeDescription::Kind::kMemset;
    if (type == cudaGraphNodeTypeMemcpy) return NodeDescription::Kind::kMemcpy;
    if (type == cudaGraphNodeTypeKernel) return NodeDescription::Kind::kKernel;
    return NodeDescription::Kind::kOther;
  }
  Result<NodeDescription> DescribeNode(GraphNode node) override;
  Result<GraphNode> CopyNode(Graph graph, GraphNode node) override;
  Result<GraphNode> AddEmptyNode(Graph graph) override {
    GraphNode node = nullptr;
    PLAIT_CUDA_RETURN_IF_ERROR(
        Check("cudaGraphAddEmptyNode", cudaGraphAddEmptyNode(&node, graph, nullptr, 0)));
    return node;
  }
  // All in one call: CUDA takes arrays, one entry per edge.
  Status AddEdges(Graph graph, const std::vector<GraphEdge>& edges) override {
    std::vector<GraphNode> from, to;
    std::vector<cudaGraphEdgeData> data;
    for (const GraphEdge& edge : edges) {
      from.push_back(edge.from);
      to.push_back(edge.to);
      data.push_back(ToCuda(edge.data));
    }
    return Check("cudaGraphAddDependencies", cudaGraphAddDependencies(graph, from.data(), to.data(),
                                                                      data.data(), edges.size()));
  }
  Result<GraphExec> Instantiate(Graph graph) override {
    GraphExec exec = nullptr;
    PLAIT_CUDA_RETURN_IF_ERROR(
        Check("cudaGraphInstantiate", cudaGraphInstantiate(&exec, graph, 0)));
    return exec;
  }
  Status DestroyExec(GraphExec exec) override {
    return Check("cudaGraphExecDestroy", cudaGraphExecDestroy(exec));
  }
  Status LaunchGraph(GraphExec exec, Stream stream) override {
    return Check("cudaGraphLaunch", cudaGraphLaunch(exec, stream));
  }

  Result<Library> LoadLibrary(const std::string& cubin) override {
    Library library = nullptr;
    PLAIT_CUDA_RETURN_IF_ERROR(Check(
        "cudaLibraryLoadData",
        cudaLibraryLoadData(&library, cubin.data(), nullptr, nullptr, 0, nullptr, nullptr, 0)));
    return library;
  }
  Result<Kernel> FindKernel(Library library, const char* name) override {
    Kernel kernel = nullptr;
    PLAIT_CUDA_RETURN_IF_ERROR(
        Check("cudaLibraryGetKernel", cudaLibraryGetKernel(&kernel, library, name)));
    return kernel;
  }
  Status UnloadLibrary(Library library) override {
    return Check("cudaLibraryUnload", cudaLibraryUnload(library));
  }
  Status LaunchKernel(Kernel kernel, const LaunchShape& shape, void** arguments,
                      Stream stream) override {
    const dim3 grid(shape.grid[0], shape.grid[1], shape.grid[2]);
    const dim3 block(shape.block[0], shape.block[1], shape.block[2]);
    // The runtime takes a kernel of a library in the place of a function's address.
    return Check("cudaLaunchKernel",
                 cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, block, arguments,
                                  shape.shared_bytes, stream));
  }
};

// Asked twice, first for the number.
Result<std::vector<GraphEdge>> RealRuntime::Edges(Graph graph) {
  size_t count = 0;
  PLAIT_CUDA_RETURN_IF_ERROR(
      Check("cudaGraphGetEdges", cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &count)));
  std::vector<GraphNode> from(count), to(count);
  std::vector<cudaGraphEdgeData> data(count);
  PLAIT_CUDA_RETURN_IF_ERROR(Check(
      "cudaGraphGetEdges", cudaGraphGetEdges(graph, from.data(), to.data(), data.data(), &count)));
  std::vector<GraphEdge> edges;
  for (size_t i = 0; i < count; ++i) edges.push_back({from[i], to[i], FromCuda(data[i])});
  return edges;
}

Result<NodeDescription> RealRuntime::DescribeNode(GraphNode node) {
  const Result<NodeDescription::Kind> kind = NodeKind(node);
  if (!kind.ok()) return kind.error();
  NodeDescription description;
  description.kind = kind.value();
  // Only kernels take registers and shared memory.
  if (kind.value() != NodeDescription::Kind::kKernel) return description;
  const Result<const Driver*> driver = GetDriver();
  if (!driver.ok()) return driver.error();
  PLAIT_CUDA_RETURN_IF_ERROR(DescribeKernel(*driver.value(), node, &description));
  return description;
}

// Only the kinds of nodes that captures of our operations have; another kind would be copied
// wrongly or without its resources, and is refused instead.
Result<GraphNode> RealRuntime::CopyNode(Graph graph, GraphNode node) {
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  PLAIT_CUDA_RETURN_IF_ERROR(Check("cudaGraphNodeGetType", cudaGraphNodeGetType(node, &type)));
  GraphNode copy = nullptr;
  if (type == cudaGraphNodeTypeEmpty) return AddEmptyNode(graph);
  if (type == cudaGraphNodeTypeMemset) {
    cudaMemsetParams params = {};
    PLAIT_CUDA_RETURN_IF_ERROR(
        Check("cudaGraphMemsetNodeGetParams", cudaGraphMemsetNodeGetParams(node, &params)));
    PLAIT_CUDA_RETURN_IF_ERROR(
        Check("cudaGraphAddMemsetNode", cudaGraphAddMemsetNode(&copy, graph, nullptr, 0, &params)));
    return copy;
  }
  if (type == cudaGraphNodeTypeMemcpy) {
    cudaMemcpy3DParms params = {};
    PLAIT_CUDA_RETURN_IF_ERROR(
        Check("cudaGraphMemcpyNodeGetParams", cudaGraphMemcpyNodeGetParams(node, &params)));
    PLAIT_CUDA_RETURN_IF_ERROR(
        Check("cudaGraphAddMemcpyNode", cudaGraphAddMemcpyNode(&copy, graph, nullptr, 0, &params)));
    return copy;
  }
  if (type != cudaGraphNodeTypeKernel) {
    return Error{ErrorCode::kUnsupported, "graph node of type " + std::to_string(type)};
  }
  const Result<const Driver*> driver = GetDriver();
  if (!driver.ok()) return driver.error();
  CUDA_KERNEL_NODE_PARAMS params = {};
  PLAIT_CUDA_RETURN_IF_ERROR(
      CheckDriver("cuGraphKernelNodeGetParams", driver.value()->get_params(node, &params)));
  PLAIT_CUDA_RETURN_IF_ERROR(CheckDriver(
      "cuGraphAddKernelNode", driver.value()->add_kernel(&copy, graph, nullptr, 0, &params)));
  // Cluster sizes and priorities are attributes, not parameters.
  PLAIT_CUDA_RETURN_IF_ERROR(
      CheckDriver("cuGraphKernelNodeCopyAttributes", driver.value()->copy_attributes(copy, node)));
  return copy;
}

}  // namespace

Runtime& CudaRuntime() {
  static RealRuntime runtime;
  return runtime;
}

}  // namespace plait::cuda
