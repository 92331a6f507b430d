#pragma once

#include <optional>
#include <vector>

#include "optimizer/ir/graph.h"

namespace plait {

// One elementwise operation that a convolution, pool or matrix product applies to its result before
// it writes it.
struct PostOperation {
  enum class Kind {
    kActivation,  // op(x; alpha, beta)
    kLinear,      // alpha * x + beta
    kAddTensor,   // x + operand, of x's shape
    kAddChannel,  // x + operand, a constant with one element per channel
    kMulTensor,   // x * operand, of x's shape
  };
  Kind kind = Kind::kActivation;
  OpKind op = OpKind::kRelu;  // of kActivation: kSwish also stands for x * Sigmoid(x)
  float alpha = 0;
  float beta = 0;
  TensorId operand = kNoTensor;
  absl::InlinedVector<NodeId, 2> nodes;  // what it replaces, ascending
  TensorId result = kNoTensor;
};

// The operations that follow a convolution or matrix product, in order.
struct Epilogue {
  std::vector<PostOperation> operations;
  TensorId result = kNoTensor;  // what is written: the last operation's result
};

// The operation that consumes `value`, if its readers are exactly that operation's nodes and
// nothing else sees `value`. `channel_axis` says which axis of `value` a per-channel operand runs
// along.
std::optional<PostOperation> NextPostOperation(const Graph& graph, TensorId value,
                                               int channel_axis);

// Whether the operation reads a tensor that is computed at run time.
bool ReadsTensor(const Graph& graph, const PostOperation& operation);

// Reads `rest`, the nodes of a kernel after its root, as operations on `value`, the root's output.
// nullopt when they are anything else, or two operations of one kind with other parameters, which
// oneDNN gets wrong: what the catalog offers always parses, and so nothing else can be loaded.
std::optional<Epilogue> ParseEpilogue(const Graph& graph, TensorId value,
                                      absl::Span<const NodeId> rest, int channel_axis);

// The sets of `root` and operations that follow it, shortest first. A set may end before an
// operation that reads another tensor, because that tensor may be the one to wait for, and ends
// where nothing more can be applied. None where nothing follows.
std::vector<std::vector<NodeId>> GrowEpilogues(const Graph& graph, NodeId root);

// The same of `front`, nodes that end with `root`: alone too, where it may end there.
std::vector<std::vector<NodeId>> GrowEpiloguesBehind(const Graph& graph,
                                                     const std::vector<NodeId>& front, NodeId root);

// FamilyOffer::grow of a family that does so behind every node that it runs alone.
template <bool (*runs)(const Graph& graph, NodeId node)>
std::vector<std::vector<NodeId>> GrowBehind(const Graph& graph, NodeId node) {
  return runs(graph, node) ? GrowEpilogues(graph, node) : std::vector<std::vector<NodeId>>();
}

// The axis of a convolution's, pool's or matrix product's (Gemm's) result that a per-channel
// operand runs along.
int ChannelAxisOf(const Graph& graph, NodeId root);

}  // namespace plait
