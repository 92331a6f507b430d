#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gpu_worker/backends/cuda/driver/runtime.h"

namespace plait::cuda {

// A runtime without a device: memory is the host's, kernels are host functions that run at their
// launch and take a made-up time, a graph takes as long as its longest path, and every call is
// written down. It refuses what the real one would: handles that are not alive, memory out of
// range, captures that are not joined, cycles. What a graph holds runs at its first launch only, to
// be quick.
class RecordingRuntime : public Runtime {
 public:
  RecordingRuntime();
  ~RecordingRuntime() override;

  // A kernel that can be launched, with `parameters` parameters of 8 bytes. `run` gets a pointer to
  // each one's value, and may be empty.
  Kernel AddKernel(const std::string& name, double duration_us, int parameters,
                   std::function<void(void** arguments)> run);

  // The n-th call from now fails with kDevice; if sticky, so does every one after it.
  void FailAfter(int calls, bool sticky);

  const std::vector<std::string>& calls() const { return calls_; }
  int Count(const std::string& call) const;
  // What is still alive, one line each; empty when everything was given back.
  std::vector<std::string> Leaks() const;

  Result<DeviceFacts> Describe() override;
  Status CheckHealth() override;
  Result<void*> Allocate(size_t bytes) override;
  Status Free(void* memory) override;
  Status CopyToDevice(void* to, const void* from, size_t bytes) override;
  Status CopyToHost(void* to, const void* from, size_t bytes) override;
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
  Result<NodeDescription> DescribeNode(GraphNode node) override;
  Result<GraphNode> CopyNode(Graph graph, GraphNode node) override;
  Result<GraphNode> AddEmptyNode(Graph graph) override;
  Status AddEdges(Graph graph, const std::vector<GraphEdge>& edges) override;
  Result<GraphExec> Instantiate(Graph graph) override;
  Status DestroyExec(GraphExec exec) override;
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
  };
  struct NodeState {
    Graph graph = nullptr;
    NodeDescription description;
    double duration_us = 0;
    std::function<void()> effect;
  };
  struct ExecState {
    double duration_us = 0;
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

  template <typename Handle>
  Handle NextHandle() {
    return reinterpret_cast<Handle>(next_handle_ += 16);
  }
  // Writes the call down; fails when FailAfter() says so.
  Status Record(const std::string& call);
  bool InAllocation(const void* memory, size_t bytes) const;
  GraphNode AddNode(Graph graph, NodeState node);
  // Adds a node behind the stream's frontier; REQUIRES: the stream captures.
  void CaptureNode(StreamState* stream, NodeState node);
  Status Enqueue(Stream stream, NodeDescription::Kind kind, const std::string& name,
                 const LaunchShape& shape, double duration_us, const std::function<void()>& effect);
  // The longest path and the effects in an order that the edges allow, or an error for a cycle.
  Result<ExecState> PlanOf(const GraphState& graph) const;

  uintptr_t next_handle_ = 4096;
  double clock_us_ = 0;
  int calls_until_failure_ = -1;
  bool sticky_ = false, broken_ = false;
  std::vector<std::string> calls_;
  std::map<void*, std::unique_ptr<std::byte[]>> storage_;
  std::map<const std::byte*, size_t> allocations_;
  std::map<Stream, StreamState> streams_;
  std::map<Event, EventState> events_;
  std::map<Graph, GraphState> graphs_;
  std::map<GraphNode, NodeState> nodes_;
  std::map<GraphExec, ExecState> execs_;
  std::map<Kernel, HostKernel> kernels_;
  std::set<Library> libraries_;
};

}  // namespace plait::cuda
