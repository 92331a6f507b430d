#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
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

// The cuda backend's contact with the machine, all of it behind interfaces that tests can replace:
//   result.h           Result, Status and the error codes of this backend
//   dynamic_library.h  libraries opened at run time, so that programs start where they are missing
//   runtime.h          the calls of CUDA that plait makes
//   nvrtc.h            compiles the text of a kernel to a cubin
//   staging.h          pinned memory through which the host's bytes go to the device and back
//   owned.h            handles that give themselves back
//   operation_edges.h  what orders the operations of a graph, reduced to what is needed
//   graph_builder.h    one flat CUDA graph of operations that were captured one by one
//   driver_library.h   the functions of libcuda.so.1, opened at run time
//   driver_runtime.h   the real implementation of runtime.h by them
// No CUDA library is linked: a machine without a driver starts the program and gets kUnavailable
// from the first call.

namespace plait::cuda {

// CUDA's own handles, without its headers.
// So this header can be included where no CUDA is installed. Null is never a valid handle, except
// for a stream, where it means CUDA's default stream.
using Stream = CUstream_st*;
using Event = CUevent_st*;
using Graph = CUgraph_st*;
using GraphNode = CUgraphNode_st*;
using GraphExec = CUgraphExec_st*;
using Kernel = CUkern_st*;
using Library = CUlib_st*;

// What the runtime says about its device. Versions are CUDA's numbers: 13000 is 13.0. The runtime's
// is that of the headers it was built with.
struct DeviceFacts {
  std::string name;
  std::string pci_bus_id;  // "0000:3b:00.0", by which NVML and nvidia-smi find the same device
  int sm_major = 0, sm_minor = 0;
  int multiprocessors = 0;
  int threads_per_multiprocessor = 0;
  int64_t l2_bytes = 0;
  int64_t memory_bytes = 0;
  double memory_bytes_per_us = 0;  // by its clock and width; 0: not known
  int driver_version = 0, runtime_version = 0;
};

// How an edge of a graph orders two nodes; all zero: the first ends before the second begins. The
// fields are those of cudaGraphEdgeData.
// A type other than zero is a programmatic edge: the second kernel may start while the first still
// runs. It is a race unless the second's own code waits (griddepcontrol.wait): libraries have such
// edges between their own kernels, and FlatGraphBuilder::LetBeginEarly() makes them.
struct EdgeData {
  unsigned char from_port = 0;
  unsigned char to_port = 0;
  unsigned char type = 0;
};

// `from` and `to` are nodes of one graph; `to` begins after `from`, as `data` says.
struct GraphEdge {
  GraphNode from = nullptr;
  GraphNode to = nullptr;
  EdgeData data;
};

// What a node of a graph does and, for a kernel, what it takes of a multiprocessor.
// What bounds the kernels that run side by side is taken from here: a multiprocessor has 65536
// registers of 32 bits, and on compute capability 9.0 holds 2048 threads, 32 blocks and 228 KiB of
// shared memory. A kernel whose blocks do not fill that leaves room for another.
struct NodeDescription {
  enum class Kind { kKernel, kMemset, kMemcpy, kEmpty, kOther };
  Kind kind = Kind::kOther;
  std::string kernel;
  std::array<unsigned, 3> grid = {0, 0, 0};
  std::array<unsigned, 3> block = {0, 0, 0};
  int priority = 0;                   // that it was given; not read back
  int registers = 0;                  // per thread
  int shared_bytes = 0;               // per block, static and dynamic
  int blocks_per_multiprocessor = 0;  // at most at a time
  double occupancy = 0;               // threads at a time of those a multiprocessor can hold
};

// Blocks, threads per block, and dynamic shared memory in bytes. CUDA's limits: 2^31 - 1 blocks in
// x and 65535 in y and z; 1024 threads in a block.
struct LaunchShape {
  std::array<unsigned, 3> grid = {1, 1, 1};
  std::array<unsigned, 3> block = {1, 1, 1};
  unsigned shared_bytes = 0;
};

// The calls of CUDA that plait uses, to one device. The real one is MakeDriverRuntime()'s; tests
// and
// --fake use one that records. Handles belong to the caller, who destroys them with the same
// runtime. Not thread-safe as a whole; calls on different streams may come from different threads.
// Errors of every call: kDevice with the CUDA call's name and CUDA's words; kUnavailable without a
// driver. A call that finds an error of earlier asynchronous work reports that.
class Runtime {
 public:
  virtual ~Runtime() = default;

  // Slow (all properties are read), so once per process.
  virtual Result<DeviceFacts> Describe() = 0;
  // Waits for all work. An error that stays is sticky: the process has to be restarted.
  // An error that was pending and is gone with the asking is not reported.
  virtual Status CheckHealth() = 0;

  // Device memory, aligned to at least 256 bytes. The caller frees it, which waits for running
  // work: neither is for use between timed launches.
  virtual Result<void*> Allocate(size_t bytes) = 0;
  virtual Status Free(void* memory) = 0;
  // Host memory that the device reaches by itself ("pinned"). As slow as Allocate(). The caller
  // frees it, when no copy reads or writes it any more; Staging is its usual owner.
  virtual Result<void*> AllocateHost(size_t bytes) = 0;
  virtual Status FreeHost(void* memory) = 0;
  // These four only enqueue and can be captured: what comes later on `stream` sees the copy, other
  // streams see it behind an event, and the host behind Synchronize(). The host's end lies in
  // memory of AllocateHost(), and is neither changed nor read before the copy has happened.
  // There is no copy without a stream: the default stream orders nothing that streams of
  // CreateStream() hold.
  virtual Status CopyToDevice(void* to, const void* from, size_t bytes, Stream stream) = 0;
  virtual Status CopyToHost(void* to, const void* from, size_t bytes, Stream stream) = 0;
  virtual Status CopyOnDevice(void* to, const void* from, size_t bytes, Stream stream) = 0;
  virtual Status Fill(void* memory, int byte, size_t bytes, Stream stream) = 0;

  // `priority`: 0 is the lowest, -1 the next ...
  // The stream does not wait for the default stream, nor that for it.
  virtual Result<Stream> CreateStream(int priority) = 0;
  virtual Status DestroyStream(Stream stream) = 0;
  // Waits for everything that was enqueued before the call. Not while the stream is captured.
  virtual Status Synchronize(Stream stream) = 0;
  // Work enqueued to `stream` later waits for `event`; the host does not.
  virtual Status WaitForEvent(Stream stream, Event event) = 0;

  // Events measure time: their resolution is about half a microsecond, so that a launch shorter
  // than some hundred microseconds is to be timed many times between two of them.
  virtual Result<Event> CreateEvent() = 0;
  virtual Status DestroyEvent(Event event) = 0;
  virtual Status RecordEvent(Event event, Stream stream) = 0;
  // REQUIRES: both were recorded and have happened.
  virtual Result<double> ElapsedUs(Event begin, Event end) = 0;

  // From here to EndCapture() what is enqueued to the stream becomes nodes of a graph and is not
  // run. Other threads may call anything meanwhile. EndCapture() is due also where the launch has
  // failed; the graph that it returns is the caller's to destroy.
  virtual Status BeginCapture(Stream stream) = 0;
  virtual Result<Graph> EndCapture(Stream stream) = 0;

  virtual Result<Graph> CreateGraph() = 0;
  virtual Status DestroyGraph(Graph graph) = 0;
  virtual Result<std::vector<GraphNode>> Nodes(Graph graph) = 0;
  virtual Result<std::vector<GraphEdge>> Edges(Graph graph) = 0;
  // Both work on nodes of graphs that were never instantiated.
  virtual Result<NodeDescription::Kind> NodeKind(GraphNode node) = 0;
  virtual Result<NodeDescription> DescribeNode(GraphNode node) = 0;
  // Adds a copy of another graph's node, without its edges.
  // Errors: also kUnsupported for a kind of node that cannot be copied.
  virtual Result<GraphNode> CopyNode(Graph graph, GraphNode node) = 0;
  // How soon the kernel's blocks are taken beside others': 0 is the lowest, -1 the next ...
  // REQUIRES: a kernel's node, of a graph that is not instantiated.
  virtual Status SetNodePriority(GraphNode node, int priority) = 0;
  // A node that does nothing: it joins many edges into one and forks one into many.
  virtual Result<GraphNode> AddEmptyNode(Graph graph) = 0;
  // A programmatic edge becomes a full one where the device has none: before compute
  // capability 9.0.
  virtual Status AddEdges(Graph graph, const std::vector<GraphEdge>& edges) = 0;
  // The graph can be destroyed or changed later without a change to what was instantiated.
  virtual Result<GraphExec> Instantiate(Graph graph) = 0;
  virtual Status DestroyExec(GraphExec exec) = 0;
  // Enqueues the preparation of launches on `stream`, which the first launch would do.
  virtual Status UploadGraph(GraphExec exec, Stream stream) = 0;
  // Only enqueues. Two launches of one GraphExec do not overlap, whatever their streams.
  virtual Status LaunchGraph(GraphExec exec, Stream stream) = 0;

  // Whether the device is a simulated one, for which kernels are compiled to PTX and not to a
  // cubin.
  virtual bool TakesPtx() { return false; }
  // Loads a cubin, or PTX where TakesPtx(). The kernel lives as long as the library.
  // REQUIRES: it was compiled for the architecture of the current device; a cubin has no other form
  // to fall back to.
  virtual Result<Library> LoadLibrary(const std::string& cubin) = 0;
  virtual Result<Kernel> FindKernel(Library library, const char* name) = 0;
  virtual Status UnloadLibrary(Library library) = 0;
  // `arguments`: one pointer to each parameter's value.
  // The values are copied before the call returns; only enqueues.
  virtual Status LaunchKernel(Kernel kernel, const LaunchShape& shape, void** arguments,
                              Stream stream) = 0;
};

// The real runtime, for CUDA's device of this index, in its primary context. May be called from any
// thread. Opens nothing: that is the first call's, which fails with kUnavailable where there is no
// driver or no such device.
std::unique_ptr<Runtime> MakeDriverRuntime(int device_index);

// How many devices the driver reports. Errors: kUnavailable without a driver; kDevice.
Result<int> DeviceCount();

}  // namespace plait::cuda
