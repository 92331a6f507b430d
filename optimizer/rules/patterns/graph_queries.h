#pragma once

#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "optimizer/ir/graph.h"
#include "optimizer/rules/patterns/misses.h"

namespace plait {

// Questions that rules ask of a graph.

// The node that produces input `index`, when it applies `op`; kNoNode otherwise.
NodeId ProducerOf(const Graph& graph, NodeId node, int index, OpKind op);

// The same, and this node is the only reader of what it produces; tells that there are others.
NodeId SoleProducerOf(const Graph& graph, NodeId node, int index, OpKind op, Misses misses = {});

// The only node that reads the tensor (once), when it applies `op`; kNoNode otherwise.
NodeId SoleUser(const Graph& graph, TensorId tensor, OpKind op);

// True when every node that reads the tensor passes, and it is no output of the graph: it goes once
// all of them read something else.
bool IsReadOnlyBy(const Graph& graph, TensorId tensor, absl::FunctionRef<bool(NodeId)> passes);

// Input `index`, or kNoTensor when it is omitted or missing.
TensorId InputOr(const Graph& graph, NodeId node, int index);

// The single number in an inline float or integer constant input, nullopt for anything else.
std::optional<double> ScalarAt(const Graph& graph, NodeId node, int index);

// The integers of an inline constant input, nullopt for anything else.
std::optional<std::vector<int64_t>> IntsAt(const Graph& graph, NodeId node, int index);

// A binary node seen from one side: index of the constant input and of the other one.
struct ConstantSide {
  int constant;
  int other;
};
std::optional<ConstantSide> OneConstantInput(const Graph& graph, NodeId node);

// True when |a - b| is within a few float32 roundings: epsilons and factors that exporters write.
bool NearlyEqual(double a, double b);

// The values of a constant broadcast per channel: shape [.., C, 1, 1] (or [C,1,1]) against a tensor
// of rank `rank` whose axis `axis` has `channels`. True for one element too.
bool IsPerChannel(const TensorType& constant, int rank, int axis, int64_t channels);

}  // namespace plait
