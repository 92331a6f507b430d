#include "optimizer/rules/patterns/rewrite_builder.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "optimizer/ops/evaluation/constant_expression.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {

TensorId RewriteBuilder::NewId(NewTensor tensor) {
  tensors_.push_back(std::move(tensor));
  return graph_.tensor_count() + static_cast<TensorId>(tensors_.size()) - 1;
}

const TensorType& RewriteBuilder::type(TensorId tensor) const {
  return tensor < graph_.tensor_count() ? graph_.type(tensor)
                                        : tensors_[tensor - graph_.tensor_count()].type;
}

ConstantRef RewriteBuilder::ConstantOf(TensorId tensor) const {
  if (tensor == kNoTensor) return nullptr;
  return tensor < graph_.tensor_count() ? graph_.tensor(tensor).constant
                                        : tensors_[tensor - graph_.tensor_count()].constant;
}

TensorId RewriteBuilder::AddConstant(ConstantRef constant) {
  TensorType type = constant->type();
  return NewId({std::move(type), std::move(constant)});
}

TensorId RewriteBuilder::Add(OpKind op, Attributes attributes, absl::Span<const TensorId> inputs) {
  return AddMany(op, std::move(attributes), inputs, 1)[0];
}

std::vector<TensorId> RewriteBuilder::AddMany(OpKind op, Attributes attributes,
                                              absl::Span<const TensorId> inputs, int output_count) {
  while (!inputs.empty() && inputs.back() == kNoTensor) inputs.remove_suffix(1);
  std::vector<TensorType> input_types;
  std::vector<const Tensor*> values;
  for (TensorId input : inputs) {
    input_types.push_back(input == kNoTensor ? TensorType{} : type(input));
    const ConstantRef constant = ConstantOf(input);
    values.push_back(constant == nullptr ? nullptr : constant->inline_value());
  }
  // A failed builder goes on with tensors of no type, so that a rule can finish its sentence.
  std::vector<TensorType> types(output_count);
  if (!failed_) {
    auto inferred = InferTypes(op, attributes, input_types, values, output_count);
    if (inferred.ok()) {
      types = *std::move(inferred);
    } else {
      failed_ = true;
    }
  }
  Rewrite::NewNode node{op, MakeAttributes(std::move(attributes))};
  node.inputs.assign(inputs.begin(), inputs.end());
  node.output_types = types;
  added_.push_back(std::move(node));
  std::vector<TensorId> outputs;
  for (const TensorType& type : types) outputs.push_back(NewId({type, nullptr}));
  return outputs;
}

TensorId RewriteBuilder::Fold(OpKind op, absl::Span<const TensorId> inputs, Attributes attributes) {
  std::vector<ConstantRef> constants;
  for (TensorId input : inputs) constants.push_back(ConstantOf(input));
  failed_ = failed_ || absl::c_linear_search(constants, nullptr);
  if (failed_) return kNoTensor;
  auto folded = ApplyToConstants(op, MakeAttributes(std::move(attributes)), std::move(constants));
  failed_ = !folded.ok();
  return failed_ ? kNoTensor : AddConstant(*std::move(folded));
}

TensorId RewriteBuilder::FoldPair(OpKind op, TensorId a, TensorId b) {
  const TensorId both = Fold(op, {a, b});
  if (failed_) return kNoTensor;
  failed_ = type(both).elements() > std::max(type(a).elements(), type(b).elements());
  return failed_ ? kNoTensor : both;
}

TensorId RewriteBuilder::Reshape(TensorId constant, absl::Span<const int64_t> shape) {
  return Fold(OpKind::kReshape, {constant, AddConstant(Tensor::Int64s(shape))});
}

TensorId RewriteBuilder::Repeat(TensorId constant, int64_t count) {
  return Fold(OpKind::kExpand, {constant, AddConstant(Tensor::Int64s({count}))});
}

Rewrites RewriteBuilder::Replace(NodeId node, absl::Span<const TensorId> results) {
  const auto& outputs = graph_.node(node).outputs;
  for (size_t i = 0; i < outputs.size() && i < results.size(); ++i) {
    if (outputs[i] != kNoTensor) Rewire(outputs[i], results[i]);
  }
  return Finish();
}

void RewriteBuilder::Rewire(TensorId from, TensorId to) {
  if (!failed_ && type(from) != type(to)) failed_ = true;
  rewired_.emplace_back(from, to);
}

std::vector<TensorId> RewriteBuilder::TensorsRead() const {
  std::vector<TensorId> read = spared_;
  for (const Rewrite::NewNode& node : added_) {
    read.insert(read.end(), node.inputs.begin(), node.inputs.end());
  }
  for (const auto& [from, to] : rewired_) read.push_back(to);
  return read;
}

std::vector<NodeId> RewriteBuilder::NodesUnread(absl::Span<const TensorId> read) const {
  std::vector<NodeId> unread;
  absl::flat_hash_set<NodeId> is_unread_node;
  const absl::flat_hash_set<TensorId> is_read(read.begin(), read.end());
  const auto is_rewired = [&](TensorId tensor) {
    return absl::c_any_of(rewired_, [&](const auto& pair) { return pair.first == tensor; });
  };
  const auto is_unread = [&](TensorId tensor) {
    if (tensor == kNoTensor) return true;
    if (is_read.contains(tensor)) return false;
    if (is_rewired(tensor)) return true;
    return !graph_.is_output(tensor) && absl::c_all_of(graph_.users(tensor), [&](NodeId user) {
      return is_unread_node.contains(user);
    });
  };
  // Nodes that lost a reader. The last one first: nodes stand in topological order, so all readers
  // of a node's outputs are decided before the node is.
  std::set<NodeId> pending;
  const auto lose_reader = [&](TensorId tensor) {
    const NodeId producer = tensor == kNoTensor ? kNoNode : graph_.tensor(tensor).producer;
    if (producer != kNoNode) pending.insert(producer);
  };
  for (const auto& [from, to] : rewired_) lose_reader(from);
  while (!pending.empty()) {
    const NodeId node = *std::prev(pending.end());
    pending.erase(node);
    if (!absl::c_all_of(graph_.node(node).outputs, is_unread)) continue;
    unread.push_back(node);
    is_unread_node.insert(node);
    for (TensorId input : graph_.node(node).inputs) lose_reader(input);
  }
  std::reverse(unread.begin(), unread.end());
  return unread;
}

Rewrites RewriteBuilder::Finish() {
  if (failed_) return {};
  // A Rewrite numbers its constants first; here they came in any order, and some have served.
  const TensorId base = graph_.tensor_count();
  const std::vector<TensorId> read = TensorsRead();
  Rewrite rewrite;
  rewrite.removed = NodesUnread(read);
  std::vector<TensorId> final_id(tensors_.size());
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const TensorId id = base + static_cast<TensorId>(i);
    // Steps on the way to a folded constant are inside of its expression.
    if (tensors_[i].constant == nullptr || !absl::c_linear_search(read, id)) continue;
    final_id[i] = base + static_cast<TensorId>(rewrite.constants.size());
    rewrite.constants.push_back(tensors_[i].constant);
  }
  TensorId next = base + static_cast<TensorId>(rewrite.constants.size());
  for (size_t i = 0; i < tensors_.size(); ++i) {
    // Outputs were created node by node, so creation order is Rewrite's order.
    if (tensors_[i].constant == nullptr) final_id[i] = next++;
  }
  const auto renumber = [&](TensorId id) { return id < base ? id : final_id[id - base]; };
  for (Rewrite::NewNode& node : added_) {
    for (TensorId& input : node.inputs) input = renumber(input);
  }
  for (auto& [from, to] : rewired_) to = renumber(to);
  rewrite.added = std::move(added_);
  rewrite.rewired = std::move(rewired_);
  Rewrites rewrites;
  rewrites.push_back(std::move(rewrite));
  return rewrites;
}

}  // namespace plait
