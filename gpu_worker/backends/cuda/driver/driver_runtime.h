#pragma once

#include <mutex>
#include <optional>

#include "gpu_worker/backends/cuda/driver/driver_library.h"
#include "gpu_worker/backends/cuda/driver/runtime.h"

namespace plait::cuda {

// The real runtime: one device, in its primary context, which cuDNN, cuBLASLt and torch share. The
// first call opens the driver and the device; every call makes the context current in its thread,
// so that any thread may call.
class DriverRuntime : public Runtime {
 public:
  // `library` null: the process's. Not owned.
  DriverRuntime(int device_index, const DriverLibrary* library)
      : device_index_(device_index), library_(library) {}
  ~DriverRuntime() override;

  Result<DeviceFacts> Describe() override;
  Status CheckHealth() override;
  Result<void*> Allocate(size_t bytes) override;
  Status Free(void* memory) override;
  Result<void*> AllocateHost(size_t bytes) override;
  Status FreeHost(void* memory) override;
  Status CopyToDevice(void* to, const void* from, size_t bytes, Stream stream) override;
  Status CopyToHost(void* to, const void* from, size_t bytes, Stream stream) override;
  Status CopyOnDevice(void* to, const void* from, size_t bytes, Stream stream) override;
  Status Fill(void* memory, int byte, size_t bytes, Stream stream) override;
  Result<Stream> CreateStream(int priority) override;
  Status DestroyStream(Stream stream) override;
  Status Synchronize(Stream stream) override;
  Status WaitForEvent(Stream stream, Event event) override;
  Result<Event> CreateEvent() override;
  Status DestroyEvent(Event event) override;
  Status RecordEvent(Event event, Stream stream) override;
  Result<double> ElapsedUs(Event begin, Event end) override;
  Status BeginCapture(Stream stream) override;
  Result<Graph> EndCapture(Stream stream) override;
  Result<Graph> CreateGraph() override;
  Status DestroyGraph(Graph graph) override;
  Result<std::vector<GraphNode>> Nodes(Graph graph) override;
  Result<std::vector<GraphEdge>> Edges(Graph graph) override;
  Result<NodeDescription::Kind> NodeKind(GraphNode node) override;
  Result<NodeDescription> DescribeNode(GraphNode node) override;
  Result<GraphNode> CopyNode(Graph graph, GraphNode node) override;
  Status SetNodePriority(GraphNode node, int priority) override;
  Result<GraphNode> AddEmptyNode(Graph graph) override;
  Status AddEdges(Graph graph, const std::vector<GraphEdge>& edges) override;
  Result<GraphExec> Instantiate(Graph graph) override;
  Status DestroyExec(GraphExec exec) override;
  Status UploadGraph(GraphExec exec, Stream stream) override;
  Status LaunchGraph(GraphExec exec, Stream stream) override;
  bool TakesPtx() override;
  Result<Library> LoadLibrary(const std::string& cubin) override;
  Result<Kernel> FindKernel(Library library, const char* name) override;
  Status UnloadLibrary(Library library) override;
  Status LaunchKernel(Kernel kernel, const LaunchShape& shape, void** arguments,
                      Stream stream) override;

 private:
  Status Open();
  // Opens the device at the first call, and makes its context this thread's.
  Status Enter();
  // Enters, calls, and checks.
  template <typename... Parameters, typename... Arguments>
  Status Call(const char* name, CUresult (*DriverLibrary::*function)(Parameters...),
              Arguments... arguments) {
    PLAIT_CUDA_RETURN_IF_ERROR(Enter());
    return library_->Check(name, (library_->*function)(arguments...));
  }
  Result<int> Attribute(CUdevice_attribute attribute);
  Status DescribeKernel(GraphNode node, NodeDescription* description);
  Result<GraphNode> CopyKernelNode(Graph graph, GraphNode node);
  Result<GraphNode> CopyMemsetNode(Graph graph, GraphNode node);
  Result<GraphNode> CopyMemcpyNode(Graph graph, GraphNode node);

  const int device_index_;
  const DriverLibrary* library_;
  std::once_flag opened_;
  std::optional<Status> open_status_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
};

// As in Call(PLAIT_DRIVER_CALL(cuMemFree), address): the function's name and where it is.
#define PLAIT_DRIVER_CALL(name) #name, &DriverLibrary::name

}  // namespace plait::cuda
