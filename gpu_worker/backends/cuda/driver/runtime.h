#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gpu_worker/backends/cuda/driver/result.h"

struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphNode_st;
struct CUgraphExec_st;
struct CUkern_st;
struct CUlib_st;

namespace plait::cuda {

// CUDA's own handles, without its headers.
using Stream = CUstream_st*;
using Event = CUevent_st*;
using Graph = CUgraph_st*;
using GraphNode = CUgraphNode_st*;
using GraphExec = CUgraphExec_st*;
using Kernel = CUkern_st*;
using Library = CUlib_st*;

struct DeviceFacts {
  std::string name;
  int sm_major = 0, sm_minor = 0;
  int multiprocessors = 0;
  int threads_per_multiprocessor = 0;
  int64_t l2_bytes = 0;
  int64_t memory_bytes = 0;
  int driver_version = 0, runtime_version = 0;
};

// How an edge of a graph orders two nodes; all zero: the first ends before the second begins. The
// fields are those of cudaGraphEdgeData.
struct EdgeData {
  unsigned char from_port = 0;
  unsigned char to_port = 0;
  unsigned char type = 0;
};

struct GraphEdge {
  GraphNode from = nullptr;
  GraphNode to = nullptr;
  EdgeData data;
};

// What a node of a graph does and, for a kernel, what it takes of a multiprocessor.
struct NodeDescription {
  enum class Kind { kKernel, kMemset, kMemcpy, kEmpty, kOther };
  Kind kind = Kind::kOther;
  std::string kernel;
  std::array<unsigned, 3> grid = {0, 0, 0};
  std::array<unsigned, 3> block = {0, 0, 0};
  int registers = 0;                  // per thread
  int shared_bytes = 0;               // per block, static and dynamic
  int blocks_per_multiprocessor = 0;  // at most at a time
  double occupancy = 0;               // threads at a time of those a multiprocessor can hold
};

struct LaunchShape {
  std::array<unsigned, 3> grid = {1, 1, 1};
  std::array<unsigned, 3> block = {1, 1, 1};
  unsigned shared_bytes = 0;
};

// The calls of the CUDA runtime that plait uses. The real one is CudaRuntime(); tests and --fake
// use one that records. Handles belong to the caller, who destroys them with the same runtime.
// Not thread-safe as a whole; calls on different streams may come from different threads.
// Errors of every call: kDevice with the CUDA call's name and CUDA's words; kUnavailable without a
// driver. A call that finds an error of earlier asynchronous work reports that.
class Runtime {
 public:
  virtual ~Runtime() = default;

  virtual Result<DeviceFacts> Describe() = 0;
  // Waits for all work. An error that stays is sticky: the process has to be restarted.
  virtual Status CheckHealth() = 0;

  virtual Result<void*> Allocate(size_t bytes) = 0;
  virtual Status Free(void* memory) = 0;
  virtual Status CopyToDevice(void* to, const void* from, size_t bytes) = 0;
  virtual Status CopyToHost(void* to, const void* from, size_t bytes) = 0;
  virtual Status CopyOnDevice(void* to, const void* from, size_t bytes, Stream stream) = 0;
  virtual Status Fill(void* memory, int byte, size_t bytes, Stream stream) = 0;

  // `priority`: 0 is the lowest, -1 the next ...
  virtual Result<Stream> CreateStream(int priority) = 0;
  virtual Status DestroyStream(Stream stream) = 0;
  virtual Status Synchronize(Stream stream) = 0;
  virtual Status WaitForEvent(Stream stream, Event event) = 0;

  virtual Result<Event> CreateEvent() = 0;
  virtual Status DestroyEvent(Event event) = 0;
  virtual Status RecordEvent(Event event, Stream stream) = 0;
  // REQUIRES: both were recorded and have happened.
  virtual Result<double> ElapsedUs(Event begin, Event end) = 0;

  virtual Status BeginCapture(Stream stream) = 0;
  virtual Result<Graph> EndCapture(Stream stream) = 0;

  virtual Result<Graph> CreateGraph() = 0;
  virtual Status DestroyGraph(Graph graph) = 0;
  virtual Result<std::vector<GraphNode>> Nodes(Graph graph) = 0;
  virtual Result<std::vector<GraphEdge>> Edges(Graph graph) = 0;
  virtual Result<NodeDescription> DescribeNode(GraphNode node) = 0;
  // Adds a copy of another graph's node, without its edges. Errors: also kUnsupported for a kind
  // of node that cannot be copied.
  virtual Result<GraphNode> CopyNode(Graph graph, GraphNode node) = 0;
  virtual Result<GraphNode> AddEmptyNode(Graph graph) = 0;
  virtual Status AddEdges(Graph graph, const std::vector<GraphEdge>& edges) = 0;
  virtual Result<GraphExec> Instantiate(Graph graph) = 0;
  virtual Status DestroyExec(GraphExec exec) = 0;
  virtual Status LaunchGraph(GraphExec exec, Stream stream) = 0;

  // Loads a cubin. The kernel lives as long as the library.
  virtual Result<Library> LoadLibrary(const std::string& cubin) = 0;
  virtual Result<Kernel> FindKernel(Library library, const char* name) = 0;
  virtual Status UnloadLibrary(Library library) = 0;
  // `arguments`: one pointer to each parameter's value.
  virtual Status LaunchKernel(Kernel kernel, const LaunchShape& shape, void** arguments,
                              Stream stream) = 0;
};

// The real runtime. Has no state of its own.
Runtime& CudaRuntime();

}  // namespace plait::cuda
