#include "optimizer/ir/constant.h"

#include <algorithm>

namespace plait {
namespace {

// Content only: where a weight lies, or which graph reads a constant, is no part of it.
struct AddConstantValue {
  FingerprintBuilder& builder;

  void operator()(const Constant::Weight& weight) const {
    builder.Add(weight.digest.sha256_hex).Add(weight.digest.size_bytes);
  }
  void operator()(const Constant::Inline& value) const { builder.Add(value.value.bytes()); }
  void operator()(const Constant::Synthetic& synthetic) const { builder.Add(synthetic.seed); }
  void operator()(const Constant::Apply& apply) const {
    // The operator's name, because OpKind's numbers differ between builds.
    builder.Add(OpKindName(apply.op)).Add(apply.attributes->fingerprint());
    builder.Add(uint64_t{apply.inputs.size()});
    for (const ConstantRef& input : apply.inputs) {
      builder.Add(input != nullptr ? input->fingerprint() : Fingerprint{});
    }
    builder.Add(apply.output_index);
  }
};

// Not a recursion: the inputs know their depths since they were made.
int DepthOf(const Constant::Value& value) {
  int depth = 0;
  if (const auto* apply = std::get_if<Constant::Apply>(&value)) {
    for (const ConstantRef& input : apply->inputs) {
      if (input != nullptr) depth = std::max(depth, input->depth());
    }
  }
  return depth + 1;
}

}  // namespace

Constant::Constant(TensorType type, Value value)
    : type_(std::move(type)), value_(std::move(value)), depth_(DepthOf(value_)) {
  FingerprintBuilder builder;
  builder.Add(FingerprintOf(type_)).Add(uint64_t{value_.index()});
  std::visit(AddConstantValue{builder}, value_);
  fingerprint_ = builder.Finish();
}

const Tensor* Constant::inline_value() const {
  const Inline* value = std::get_if<Inline>(&value_);
  return value != nullptr ? &value->value : nullptr;
}

ConstantRef Constant::OfWeight(TensorType type, Digest digest) {
  return std::make_shared<const Constant>(std::move(type), Weight{std::move(digest)});
}

ConstantRef Constant::OfTensor(Tensor value) {
  TensorType type = value.type();
  return std::make_shared<const Constant>(std::move(type), Inline{std::move(value)});
}

ConstantRef Constant::OfSynthetic(TensorType type, uint64_t seed) {
  return std::make_shared<const Constant>(std::move(type), Synthetic{seed});
}

}  // namespace plait
