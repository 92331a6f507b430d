#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpu_worker/backends/cuda/driver/result.h"
#include "gpu_worker/backends/cuda/driver/runtime.h"

namespace plait::cuda {

// A graph that can be launched; destroys it at the end. Movable. REQUIRES: the kernels' libraries
// and memory outlive it.
class ExecutableGraph {
 public:
  ExecutableGraph(Runtime* runtime, Graph graph, GraphExec exec, size_t nodes, size_t edges);
  ~ExecutableGraph();
  ExecutableGraph(ExecutableGraph&& other) noexcept;
  ExecutableGraph& operator=(ExecutableGraph&& other) noexcept;

  // Enqueues one run. Errors: kDevice.
  Status Launch(Stream stream) const;

  size_t nodes() const { return nodes_; }
  size_t edges() const { return edges_; }

 private:
  Runtime* runtime_;
  Graph graph_;
  GraphExec exec_;
  size_t nodes_, edges_;
};

// Why one operation has to wait for another.
enum class EdgeReason { kData, kMemoryReuse, kStreamOrder, kStageBarrier };

// Assembles a flat CUDA graph: every operation is captured once by itself, its nodes are copied
// into one graph, and every order between operations is an explicit edge; none comes from the
// order of capture. Not thread-safe.
class FlatGraphBuilder {
 public:
  // `runtime` is not owned and outlives the builder and its graphs.
  explicit FlatGraphBuilder(Runtime* runtime) : runtime_(runtime) {}
  ~FlatGraphBuilder();
  FlatGraphBuilder(const FlatGraphBuilder&) = delete;
  FlatGraphBuilder& operator=(const FlatGraphBuilder&) = delete;

  // Captures what `launch` enqueues. Returns the operation's number, from 0. Errors: those of
  // `launch` and of the capture.
  Result<int> AddOperation(const std::string& name, const std::function<Status(Stream)>& launch);

  // `before` ends before `after` begins, unless `data` says less. A second edge between the same
  // two changes nothing. Errors: kInvalid for an unknown operation or an edge to itself.
  Status AddEdge(int before, int after, EdgeReason reason, EdgeData data = {});

  // Each operation of `order` after the one before it.
  Status AddStreamOrder(const std::vector<int>& order);

  // All of `before` end before any of `after` begins; through an empty node where that takes
  // fewer edges.
  Status AddStageBarrier(const std::vector<int>& before, const std::vector<int>& after);

  // Builds and instantiates. Errors: kInvalid for a cycle, naming an operation on it; kDevice.
  Result<ExecutableGraph> Build() const;

  // What an operation's capture holds, in the order of capture. Errors: kDevice.
  Result<std::vector<NodeDescription>> Describe(int operation) const;

  size_t edge_count(EdgeReason reason) const;

 private:
  struct Operation {
    std::string name;
    Graph captured = nullptr;  // null: a single empty node
  };
  struct Edge {
    EdgeReason reason;
    EdgeData data;
  };
  // An operation's nodes in the flat graph that nothing inside precedes and follows.
  struct Ends {
    std::vector<GraphNode> first, last;
  };

  Status CheckAcyclic() const;
  Result<Ends> CopyOperation(const Operation& operation, Graph graph, size_t* edges) const;
  Result<ExecutableGraph> BuildInto(Graph graph) const;

  Runtime* const runtime_;
  Stream stream_ = nullptr;
  std::vector<Operation> operations_;
  std::map<std::pair<int, int>, Edge> edges_;
};

}  // namespace plait::cuda
