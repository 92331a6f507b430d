#include "optimizer/rules/patterns/rewrite_builder.h"

#include <algorithm>
#include <utility>

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
  if (constant == nullptr) {
    failed_ = true;
    constant = Constant::OfTensor(Tensor::ScalarFloat(0));
  }
  TensorType type = constant->type();
  return NewId({std::move(type), std::move(constant)});
}

TensorId RewriteBuilder::Add(OpKind op, Attributes attributes, absl::Span<const TensorId> inputs) {
  return AddMany(op, std::move(attributes), inputs, 1)[0];
}

std::vector<TensorId> RewriteBuilder::AddMany(OpKind op, Attributes attributes,
                                              absl::Span<const TensorId> inputs, int output_count) {
  std::vector<TensorType> input_types;
  std::vector<const Tensor*> values;
  for (TensorId input : inputs) {
    input_types.push_back(input == kNoTensor ? TensorType{} : type(input));
    const ConstantRef constant = ConstantOf(input);
    values.push_back(constant == nullptr ? nullptr : constant->inline_value());
  }
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
  for (int i = 0; i < output_count; ++i) {
    outputs.push_back(NewId({types[i], nullptr, static_cast<int>(added_.size()) - 1, i}));
  }
  return outputs;
}

ConstantRef RewriteBuilder::Fold(OpKind op, Attributes attributes,
                                 std::vector<ConstantRef> inputs) {
  const bool missing = std::any_of(inputs.begin(), inputs.end(),
                                   [](const ConstantRef& input) { return input == nullptr; });
  if (failed_ || missing) {
    failed_ = true;
    return nullptr;
  }
  auto folded = ApplyToConstants(op, MakeAttributes(std::move(attributes)), std::move(inputs));
  if (!folded.ok()) {
    failed_ = true;
    return nullptr;
  }
  return *std::move(folded);
}

ConstantRef RewriteBuilder::FoldReshape(ConstantRef constant, absl::Span<const int64_t> shape) {
  return Fold(OpKind::kReshape, {},
              {std::move(constant), Constant::OfTensor(Tensor::Int64s(shape))});
}

void RewriteBuilder::Rewire(TensorId from, TensorId to) {
  if (!failed_ && !(type(from) == type(to))) failed_ = true;
  rewired_.emplace_back(from, to);
}

std::optional<Rewrite> RewriteBuilder::Finish() {
  if (failed_) return std::nullopt;
  const TensorId base = graph_.tensor_count();
  Rewrite rewrite;
  std::vector<TensorId> final_id(tensors_.size());
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i].constant == nullptr) continue;
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
  std::sort(removed_.begin(), removed_.end());
  removed_.erase(std::unique(removed_.begin(), removed_.end()), removed_.end());
  rewrite.removed = std::move(removed_);
  rewrite.added = std::move(added_);
  rewrite.rewired = std::move(rewired_);
  return rewrite;
}

}  // namespace plait
