#pragma once

#include <initializer_list>
#include <optional>
#include <vector>

#include "optimizer/ir/rewrite.h"

namespace plait {

// Writes a Rewrite step by step: types are inferred, constants folded, ids assigned. A step that
// fails (shapes that do not fit) makes Finish return nullopt, so a rule needs no error handling: a
// law that cannot be typed does not apply. Not thread-safe.
class RewriteBuilder {
 public:
  explicit RewriteBuilder(const Graph& graph) : graph_(graph) {}

  // Adds a node with one output and returns it. Inputs are the graph's tensors or earlier results.
  TensorId Add(OpKind op, Attributes attributes, absl::Span<const TensorId> inputs);
  TensorId Add(OpKind op, Attributes attributes, std::initializer_list<TensorId> inputs) {
    return Add(op, std::move(attributes), absl::MakeConstSpan(inputs.begin(), inputs.size()));
  }

  // Adds a node with several outputs.
  std::vector<TensorId> AddMany(OpKind op, Attributes attributes, absl::Span<const TensorId> inputs,
                                int output_count);

  TensorId AddConstant(ConstantRef constant);
  TensorId AddConstant(Tensor value) { return AddConstant(Constant::OfTensor(std::move(value))); }

  // The constant behind a tensor; null when it is none.
  ConstantRef ConstantOf(TensorId tensor) const;

  // An operator applied to constants, as a constant expression. Null (and a failed builder) when an
  // input is null or the types do not fit.
  ConstantRef Fold(OpKind op, Attributes attributes, std::vector<ConstantRef> inputs);
  ConstantRef FoldReshape(ConstantRef constant, absl::Span<const int64_t> shape);

  const TensorType& type(TensorId tensor) const;

  // Readers of `from` read `to` instead. The types must be equal, else the builder fails.
  void Rewire(TensorId from, TensorId to);

  // The node goes; its outputs must have been rewired or be unread afterwards.
  void Remove(NodeId node) { removed_.push_back(node); }

  std::optional<Rewrite> Finish();

 private:
  // New tensors are numbered from graph_.tensor_count() in the order of creation; Finish brings
  // them into Rewrite's order.
  struct NewTensor {
    TensorType type;
    ConstantRef constant;  // null: output `output` of added_[node]
    int node = -1;
    int output = 0;
  };

  TensorId NewId(NewTensor tensor);

  const Graph& graph_;
  bool failed_ = false;
  std::vector<NodeId> removed_;
  std::vector<Rewrite::NewNode> added_;
  std::vector<NewTensor> tensors_;
  std::vector<std::pair<TensorId, TensorId>> rewired_;
};

}  // namespace plait
