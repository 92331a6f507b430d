#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include "optimizer/ir/rewrite.h"

namespace plait {

// Writes a Rewrite as the right-hand side of a law reads. Constants are tensors like all others;
// types are inferred, ids assigned, and the nodes that nothing reads any more are found. So
// Conv(x, w) * c = Conv(x, w * c), at the node `mul`:
//
//   RewriteBuilder builder(graph);
//   const TensorId w = builder.Fold(OpKind::kMul, {conv.w, c});
//   return builder.Replace(mul, builder.Add(OpKind::kConv, attributes, {conv.x, w}));
//
// A step that fails (types that do not fit, something to fold that is no constant) fails the
// builder, which then gives no rewrite: a law that cannot be typed does not apply, and a rule needs
// no error handling. `graph` must outlive the builder. Not thread-safe.
class RewriteBuilder {
 public:
  explicit RewriteBuilder(const Graph& graph) : graph_(graph) {}

  // Adds a node with one output and returns that. Inputs are the graph's tensors or earlier
  // results; kNoTensor is an omitted one, and left out at the end of the list.
  TensorId Add(OpKind op, Attributes attributes, absl::Span<const TensorId> inputs);
  TensorId Add(OpKind op, Attributes attributes, std::initializer_list<TensorId> inputs) {
    return Add(op, std::move(attributes), absl::MakeConstSpan(inputs.begin(), inputs.size()));
  }

  // Adds a node with several outputs.
  std::vector<TensorId> AddMany(OpKind op, Attributes attributes, absl::Span<const TensorId> inputs,
                                int output_count);

  // Adds a value that is written into the graph. A constant that nothing reads in the end leaves no
  // trace in the rewrite.
  TensorId AddConstant(Tensor value) { return AddConstant(Constant::OfTensor(std::move(value))); }
  TensorId AddConstant(ConstantRef constant);

  // The operator applied to constants, itself a constant: it costs nothing at run time. kNoTensor,
  // and a failed builder, when an input is no constant or the types do not fit.
  TensorId Fold(OpKind op, absl::Span<const TensorId> inputs, Attributes attributes = {});
  TensorId Fold(OpKind op, std::initializer_list<TensorId> inputs, Attributes attributes = {}) {
    return Fold(op, absl::MakeConstSpan(inputs.begin(), inputs.size()), std::move(attributes));
  }

  // Fold of two constants. Fails also where they broadcast each other, as a row and a column do: a
  // matrix would take more bytes than both.
  TensorId FoldPair(OpKind op, TensorId a, TensorId b);

  // A constant in another shape of as many elements.
  TensorId Reshape(TensorId constant, absl::Span<const int64_t> shape);

  // A constant of one element, `count` times, as a vector.
  TensorId Repeat(TensorId constant, int64_t count);

  // The type of a tensor of the graph or of an earlier result; without a shape once the builder has
  // failed. REQUIRES: tensor != kNoTensor.
  const TensorType& type(TensorId tensor) const;

  // The rewrite in which every reader of the node's outputs reads `result` or, output by output,
  // `results` instead: the usual end of a rule. None when the types differ.
  Rewrites Replace(NodeId node, TensorId result) {
    return Replace(node, absl::MakeConstSpan(&result, 1));
  }
  Rewrites Replace(NodeId node, absl::Span<const TensorId> results);

  // The two halves of Replace, for a rule that replaces outputs of several nodes. Readers of the
  // graph's tensor `from` read `to` instead. The types must be equal, else the builder fails.
  void Rewire(TensorId from, TensorId to);

  // One rewrite, or none when the builder has failed. It removes the nodes that lose their last
  // reader by what was rewired, and so on upwards; never what another node, a new node or an output
  // of the graph still reads. REQUIRES: called once, at the end.
  Rewrites Finish();

  // Leaves the producer of `tensor` in place though it may lose its last reader. The graph drops it
  // all the same, as dead, but the search does not count it among what the rule takes away.
  void Spare(TensorId tensor) { spared_.push_back(tensor); }

 private:
  // New tensors are numbered from graph_.tensor_count() in the order of creation; Finish brings
  // them into Rewrite's order.
  struct NewTensor {
    TensorType type;
    ConstantRef constant;  // null: an output of a node in added_
  };

  TensorId NewId(NewTensor tensor);
  ConstantRef ConstantOf(TensorId tensor) const;  // null when it is none

  // What the result reads: inputs of new nodes, replacements, and what is spared. Unordered.
  std::vector<TensorId> TensorsRead() const;
  std::vector<NodeId> NodesUnread(absl::Span<const TensorId> read) const;  // ascending

  const Graph& graph_;
  bool failed_ = false;
  std::vector<Rewrite::NewNode> added_;
  std::vector<NewTensor> tensors_;
  std::vector<std::pair<TensorId, TensorId>> rewired_;
  std::vector<TensorId> spared_;
};

}  // namespace plait
