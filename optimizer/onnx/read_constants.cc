#include "optimizer/onnx/read_constants.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "optimizer/onnx/messages/node_label.h"
#include "optimizer/onnx/messages/tensor_proto.h"

namespace plait {

namespace {

// The bytes are elsewhere, so only their number can be checked.
absl::StatusOr<ConstantRef> StrippedWeight(const onnx::TensorProto& proto, const Digest& digest,
                                           ModelParts* parts) {
  PLAIT_ASSIGN_OR_RETURN(TensorType type, TypeOfTensorProto(proto));
  if (digest.size_bytes != type.bytes()) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor '", proto.name(), "': its stripped weight has ", digest.size_bytes,
                     " bytes, but ", type.ToString(), " has ", type.bytes()));
  }
  parts->weights.emplace(digest, std::nullopt);
  parts->weightless = true;
  return Constant::OfWeight(std::move(type), digest);
}

absl::StatusOr<ConstantRef> ConstantOf(const onnx::TensorProto& proto, ModelParts* parts) {
  if (const std::optional<Digest> digest = StrippedDigest(proto)) {
    return StrippedWeight(proto, *digest, parts);
  }
  // The tensor lives in `parts` beside the proto that it looks into, so it needs no owner.
  PLAIT_ASSIGN_OR_RETURN(const Tensor tensor, ReadTensorProto(proto, nullptr));
  if (static_cast<int64_t>(tensor.bytes().size()) <= kInlineConstantBytesMax) {
    return Constant::OfTensor(Tensor(tensor.type(), std::string(tensor.bytes())));
  }
  // The one time that a weight's bytes are read: from here on its digest stands for them.
  Digest digest = DigestOf(tensor.bytes());
  parts->weights.insert_or_assign(digest, tensor);
  return Constant::OfWeight(tensor.type(), std::move(digest));
}

// The value of a Constant node; nullptr when the IR cannot hold it.
absl::StatusOr<ConstantRef> ConstantOfNode(const onnx::NodeProto& node, ModelParts* parts) {
  if (node.attribute.size() != 1 || node.output.size() != 1 || !node.input.empty()) {
    return absl::InvalidArgumentError("a Constant has one value attribute, one output, no inputs");
  }
  const onnx::AttributeProto& value = node.attribute[0];
  if (value.name() == "value" && value.t.has() && IsSupportedDataType(value.t().data_type())) {
    return ConstantOf(value.t(), parts);
  }
  if (value.name() == "value_float") return Constant::OfTensor(Tensor::ScalarFloat(value.f()));
  if (value.name() == "value_int") return Constant::OfTensor(Tensor::ScalarInt64(value.i()));
  // A list may be long: as a tensor it becomes a weight like any other.
  onnx::TensorProto list;
  list.name = node.output[0];
  if (value.name() == "value_floats") {
    list.data_type = static_cast<int32_t>(DataType::kFloat32);
    list.dims = {static_cast<int64_t>(value.floats.size())};
    list.float_data = value.floats;
  } else if (value.name() == "value_ints") {
    list.data_type = static_cast<int32_t>(DataType::kInt64);
    list.dims = {static_cast<int64_t>(value.ints.size())};
    list.int64_data = value.ints;
  } else {
    return ConstantRef();
  }
  PLAIT_ASSIGN_OR_RETURN(Tensor tensor, CopyTensorProto(list));
  if (static_cast<int64_t>(tensor.bytes().size()) <= kInlineConstantBytesMax) {
    return Constant::OfTensor(std::move(tensor));
  }
  Digest digest = DigestOf(tensor.bytes());
  const TensorType type = tensor.type();
  parts->weights.insert_or_assign(digest, std::move(tensor));
  return Constant::OfWeight(type, std::move(digest));
}

}  // namespace

absl::Status ReadConstants(ModelParts* parts) {
  const onnx::GraphProto& graph = parts->proto.graph();
  for (const onnx::TensorProto& initializer : graph.initializer) {
    if (!IsSupportedDataType(initializer.data_type())) continue;
    PLAIT_ASSIGN_OR_RETURN(ConstantRef constant, ConstantOf(initializer, parts));
    parts->constants[initializer.name()] = std::move(constant);
  }
  for (const onnx::NodeProto& node : graph.node) {
    if (node.op_type() != "Constant" || !IsDefaultDomain(node.domain())) continue;
    absl::StatusOr<ConstantRef> constant = ConstantOfNode(node, parts);
    if (!constant.ok()) return Annotate(constant.status(), NodeLabel(node));
    if (*constant != nullptr) parts->constants[node.output[0]] = *std::move(constant);
  }
  return absl::OkStatus();
}

}  // namespace plait
