#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpu_worker/backends/cuda/driver/operation_edges.h"
#include "gpu_worker/backends/cuda/driver/owned.h"
#include "gpu_worker/backends/cuda/driver/result.h"
#include "gpu_worker/backends/cuda/driver/runtime.h"

namespace plait::cuda {

// What a graph's nodes use and do not own: libraries of kernels, memory, and the captures that they
// were copied from, which may hold memory that a library has put there.
using Kept = std::vector<std::shared_ptr<const void>>;

// A graph that can be launched, and the one owner of it and of what it keeps: whoever made the
// kernels and the memory may be gone before it. Movable.
// Moved from, it can only be destroyed or assigned to.
// REQUIRES: its launches have ended when it is destroyed.
class ExecutableGraph {
 public:
  // Takes `graph` and `exec` over; `runtime` is not owned and outlives this. What it keeps is given
  // back behind both.
  ExecutableGraph(Runtime* runtime, Graph graph, GraphExec exec, size_t nodes, size_t edges,
                  Kept kept = {});
  ExecutableGraph(ExecutableGraph&& other) noexcept = default;
  ExecutableGraph& operator=(ExecutableGraph&& other) noexcept;

  // Enqueues one run.
  // Does not wait. A second launch runs after the first, since CUDA never overlaps runs of one
  // graph.
  // Errors: kDevice.
  Status Launch(Stream stream) const;

  // Enqueues what the first launch would have to do beside running.
  // Errors: kDevice.
  Status Upload(Stream stream) const;

  // Of the flat graph: kernels, copies, fills and empty nodes; and the edges between them.
  size_t nodes() const { return nodes_; }
  size_t edges() const { return edges_; }

 private:
  Runtime* runtime_;
  // In this order: the last goes first.
  Kept kept_;
  OwnedGraph graph_;
  OwnedExec exec_;
  size_t nodes_, edges_;
};

// Assembles a flat CUDA graph: every operation is captured once by itself, its nodes are copied
// into one graph, and every order between operations is an explicit edge; none comes from the
// order of capture. Not thread-safe.
// Flat: no child graphs, whose ends join all of their nodes even where a reader needs only one, and
// no order that happened to arise from capturing on a few streams. What may run side by side is
// thus exactly what the edges leave open.
class FlatGraphBuilder {
 public:
  // `runtime` is not owned and outlives the builder and its graphs.
  explicit FlatGraphBuilder(Runtime* runtime) : runtime_(runtime) {}
  FlatGraphBuilder(const FlatGraphBuilder&) = delete;
  FlatGraphBuilder& operator=(const FlatGraphBuilder&) = delete;

  // Captures what `launch` enqueues. Returns the operation's number, from 0.
  // `launch` is called once, now, with a stream that is being captured; it must only enqueue to it.
  // What it enqueues may be nothing: the operation then is an empty node.
  // Errors: those of `launch` and of the capture.
  Result<int> AddOperation(const std::string& name, const std::function<Status(Stream)>& launch);

  // How soon the operation's kernels are taken beside others' in graphs that are built from here
  // on: 0 is the lowest, -1 the next ... As a schedule gives its critical path a higher one.
  // REQUIRES: a number that AddOperation() returned.
  void SetPriority(int operation, int priority) { operations_[operation].priority = priority; }

  // The operation is one kernel that waits by itself for what is before it. Where that is a single
  // kernel, graphs that are built from here on join the two by a programmatic edge.
  // REQUIRES: a number that AddOperation() returned.
  void LetBeginEarly(int operation) { operations_[operation].begins_early = true; }

  // Every graph that is built from here on keeps `used` alive, as it does the captures: what
  // launches of its operations refer to, such as Candidate::resources() and the memory of operands
  // and workspaces. Null is nothing to keep.
  void Keep(std::shared_ptr<const void> used);

  // `before` ends before `after` begins, unless `data` says less. Of several edges between the same
  // two the strongest holds.
  // From every last node of `before` to every first node of `after`. A programmatic edge is one
  // between two kernels; where either node is none, it is a full one.
  // Errors: kInvalid for an unknown operation or an edge to itself.
  Status AddEdge(int before, int after, EdgeReason reason, EdgeData data = {});

  // Each operation of `order` after the one before it.
  // Errors: those of AddEdge.
  Status AddStreamOrder(const std::vector<int>& order);

  // All of `before` end before any of `after` begins; through an empty node where that takes
  // fewer edges.
  // The empty node counts as an operation: the next AddOperation() gets the number after it.
  // Errors: those of AddEdge.
  Status AddStageBarrier(const std::vector<int>& before, const std::vector<int>& after);

  // Builds and instantiates. Edges that others imply are left out: the graph orders what was asked
  // for with as few as it takes.
  // Can be called again, also after more operations and edges: each call makes a graph of its own.
  // Errors: kInvalid for a cycle, naming an operation on it; kDevice.
  Result<ExecutableGraph> Build() const;

  // What an operation's capture holds, in the order of capture.
  // REQUIRES: a number that AddOperation() returned.
  // Errors: kDevice.
  Result<std::vector<NodeDescription>> Describe(int operation) const;

  // How many pairs of operations were ordered for this reason, before others imply them.
  size_t edge_count(EdgeReason reason) const { return edges_.count(reason); }

 private:
  struct Operation {
    std::string name;
    std::shared_ptr<const OwnedGraph> captured;  // null: a single empty node
    int priority = 0;
    bool begins_early = false;
  };
  // An operation's nodes in the flat graph that nothing inside precedes and follows.
  struct Ends {
    std::vector<GraphNode> first, last;
  };

  // Each operation behind those it waits for.
  Result<std::vector<int>> Order() const;
  Status Prioritize(GraphNode node, int priority) const;
  Result<Ends> CopyOperation(const Operation& operation, Graph graph, size_t* edges) const;
  // The edges from every last node of one operation to every first node of another.
  Status AppendEdges(const Ends& before, const Ends& after, EdgeData data,
                     std::vector<GraphEdge>* edges) const;
  Result<ExecutableGraph> BuildInto(Graph graph, const OperationEdges::Pairs& pairs) const;

  Runtime* const runtime_;
  // The stream for captures is made by the first AddOperation().
  OwnedStream stream_;
  Kept kept_;
  std::vector<Operation> operations_;
  OperationEdges edges_;
};

}  // namespace plait::cuda
