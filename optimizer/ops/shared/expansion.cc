#include "optimizer/ops/shared/expansion.h"

#include <utility>

#include "optimizer/ops/shared/op_spec.h"

namespace plait {

// After an error everything is skipped and kNoTensor returned, so that an expansion reads as
// straight code and asks once, at the end.
TensorId Expansion::Add(OpKind op, std::vector<TensorId> inputs, Attributes attributes) {
  if (!status_.ok()) return kNoTensor;
  Node node;
  node.op = op;
  node.attributes = MakeAttributes(std::move(attributes));
  node.inputs.assign(inputs.begin(), inputs.end());
  Types types = InferTypes(*builder_, node, 1);
  if (!types.ok()) {
    status_ = types.status();
    return kNoTensor;
  }
  return builder_->AddNode(std::move(node), *types)[0];
}

TensorId Expansion::Constant(Tensor value) {
  return builder_->AddConstant(plait::Constant::OfTensor(std::move(value)));
}

TensorId Expansion::Ints(std::vector<int64_t> values) {
  return Constant(Tensor::Int64s(std::move(values)));
}

TensorId Expansion::Cast(TensorId tensor, DataType dtype) {
  if (type(tensor).dtype == dtype) return tensor;
  return Add(OpKind::kCast, {tensor}, {{"to", static_cast<int64_t>(dtype)}});
}

TensorId Expansion::Scalar(DataType dtype, double value) {
  return Constant(Tensor::FromDoubles(TensorType{dtype, {}}, {value}));
}

TensorType Expansion::type(TensorId id) const {
  return id == kNoTensor ? TensorType{} : builder_->tensor(id).type;
}

absl::StatusOr<std::vector<TensorId>> Expansion::Outputs(std::vector<TensorId> outputs) const {
  if (!status_.ok()) return status_;
  return outputs;
}

}  // namespace plait
