#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gpu_worker/backends/cuda/driver/runtime.h"
#include "tests/gpu_worker/backends/cuda/access_order.h"

namespace plait::cuda {

// A runtime without a device: memory is the host's, kernels are host functions that run at their
// launch and take a made-up time, a graph takes as long as its longest path, and every call is
// written down. It refuses what the real one would: handles that are not alive, memory out of
// range, host memory that is not pinned, captures that are not joined, cycles. And it refuses what
// the real one would only compute wrongly: touching memory without an order behind what another
// stream, or another node of the graph, does to it; giving back what an executable graph that is
// alive uses, be it memory, a kernel's library, or a graph that nodes were copied from. A copy to
// the host arrives when the host waits for it; until then its memory has other bytes. What a graph
// holds runs at its first launch only, to be quick.
class RecordingRuntime : public Runtime {
 public:
  RecordingRuntime();
  ~RecordingRuntime() override;

  // A kernel that can be launched, with `parameters` parameters of 8 bytes. `run` gets a pointer to
  // each one's value, and may be empty; so does `touch`, which says what memory a launch touches.
  // Without it a launch touches nothing.
  Kernel AddKernel(const std::string& name, double duration_us, int parameters,
                   std::function<void(void** arguments)> run,
                   std::function<std::vector<MemoryAccess>(void** arguments)> touch = nullptr);

  // The n-th call from now fails with kDevice; if sticky, so does every one after it.
  void FailAfter(int calls, bool sticky);

  const std::vector<std::string>& calls() const { return calls_; }
  int Count(const std::string& call) const;
  // The priorities of the kernels in executable graphs that are alive, by their names.
  std::multimap<std::string, int> Priorities() const;
  // Programmatic edges of the executable graphs that are alive.
  int ProgrammaticEdges() const;
  // Every refusal, planted failures left out: what no one was told of, in a destructor, too.
  const std::vector<std::string>& refusals() const { return refusals_; }
  // What is still alive, one line each; empty when everything was given back.
  std::vector<std::string> Leaks() const;

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
  Result<Library> LoadLibrary(const std::string& cubin) override;
  Result<Kernel> FindKernel(Library library, const char* name) override;
  Status UnloadLibrary(Library library) override;
  Status LaunchKernel(Kernel kernel, const LaunchShape& shape, void** arguments,
                      Stream stream) override;

 private:
  struct HostKernel {
    std::string name;
    double duration_us = 0;
    int parameters = 0;
    std::function<void(void**)> run;
    std::function<std::vector<MemoryAccess>(void**)> touch;
    Library library = nullptr;
  };
  struct NodeState {
    Graph graph = nullptr;
    NodeDescription description;
    double duration_us = 0;
    std::function<void()> effect;
    std::vector<MemoryAccess> accesses;
    Library library = nullptr;
    std::set<Graph> copied_from;
  };
  struct ExecState {
    double duration_us = 0;
    int programmatic_edges = 0;
    std::multimap<std::string, int> priorities;
    std::vector<MemoryAccess> accesses;
    std::set<Library> libraries;
    std::set<Graph> copied_from;
    std::vector<std::function<void()>> effects;  // still to run, in order
  };
  struct GraphState {
    std::vector<GraphNode> nodes;
    std::vector<GraphEdge> edges;
  };
  struct StreamState {
    Graph capture = nullptr;
    bool origin = false;  // of the capture
    std::vector<GraphNode> frontier;
  };
  struct EventState {
    double time_us = -1;
    Graph capture = nullptr;
    std::vector<GraphNode> frontier;
  };

  // A copy between host and device that the host has not waited for.
  struct HostCopy {
    Stream stream = nullptr;
    int64_t place = 0;
    std::byte* host = nullptr;
    size_t bytes = 0;
    size_t hash = 0;                // of the host's bytes, which must not change
    std::vector<std::byte> arrive;  // to the host; empty for a copy to the device
  };

  template <typename Handle>
  Handle NextHandle() {
    return reinterpret_cast<Handle>(next_handle_ += 16);
  }
  // Writes the call down; fails when FailAfter() says so.
  Status Record(const std::string& call);
  Error Refuse(const std::string& what) const;
  bool InAllocation(const void* memory, size_t bytes) const;
  bool InPinned(const void* memory, size_t bytes) const;
  // Fails where an executable graph that is alive uses it.
  Status CheckUnused(const std::string& call,
                     const std::function<bool(const ExecState&)>& uses) const;
  // Lets the copies happen that the host knows of now.
  Status FinishHostCopies();
  GraphNode AddNode(Graph graph, NodeState node);
  // Adds a node behind the stream's frontier; REQUIRES: the stream captures.
  void CaptureNode(StreamState* stream, NodeState node);
  Status Enqueue(Stream stream, NodeState node);
  // The longest path and the effects in an order that the edges allow, or an error for a cycle.
  Result<ExecState> PlanOf(const GraphState& graph) const;
  // Two nodes that touch the same memory though no path of full edges orders them.
  // `order`: the graph's nodes, each behind those that it waits for.
  Status CheckRaces(const GraphState& graph, const std::vector<GraphNode>& order) const;

  uintptr_t next_handle_ = 4096;
  double clock_us_ = 0;
  int calls_until_failure_ = -1;
  bool sticky_ = false, broken_ = false;
  std::vector<std::string> calls_;
  mutable std::vector<std::string> refusals_;
  std::map<void*, std::unique_ptr<std::byte[]>> storage_;
  std::map<const std::byte*, size_t> allocations_, pinned_;
  AccessOrder order_;
  std::vector<HostCopy> host_copies_;
  std::map<Stream, StreamState> streams_;
  std::map<Event, EventState> events_;
  std::map<Graph, GraphState> graphs_;
  std::map<GraphNode, NodeState> nodes_;
  std::map<GraphExec, ExecState> execs_;
  std::map<Kernel, HostKernel> kernels_;
  std::set<Library> libraries_;
};

}  // namespace plait::cuda
