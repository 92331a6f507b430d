#include "optimizer/onnx/read_constants.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/parallel_for.h"
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

bool IsInline(const Tensor& tensor) {
  return static_cast<int64_t>(tensor.bytes().size()) <= kInlineConstantBytesMax;
}

// `digest` is that of the elements where it is known already.
absl::StatusOr<ConstantRef> ConstantOf(const onnx::TensorProto& proto, std::optional<Digest> digest,
                                       ModelParts* parts) {
  if (const std::optional<Digest> stripped = StrippedDigest(proto)) {
    return StrippedWeight(proto, *stripped, parts);
  }
  // The tensor lives in `parts` beside the proto that it looks into, so it needs no owner.
  PLAIT_ASSIGN_OR_RETURN(const Tensor tensor, ReadTensorProto(proto, nullptr));
  if (IsInline(tensor)) {
    return Constant::OfTensor(Tensor(tensor.type(), std::string(tensor.bytes())));
  }
  if (!digest.has_value()) digest = DigestOf(tensor.bytes());
  parts->weights.insert_or_assign(*digest, tensor);
  return Constant::OfWeight(tensor.type(), *std::move(digest));
}

// The value of a Constant node; nullptr when the IR cannot hold it.
absl::StatusOr<ConstantRef> ConstantOfNode(const onnx::NodeProto& node, ModelParts* parts) {
  if (node.attribute.size() != 1 || node.output.size() != 1 || !node.input.empty()) {
    return absl::InvalidArgumentError("a Constant has one value attribute, one output, no inputs");
  }
  const onnx::AttributeProto& value = node.attribute[0];
  if (value.name() == "value" && value.t.has() && IsSupportedDataType(value.t().data_type())) {
    return ConstantOf(value.t(), std::nullopt, parts);
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
  if (IsInline(tensor)) return Constant::OfTensor(std::move(tensor));
  Digest digest = DigestOf(tensor.bytes());
  const TensorType type = tensor.type();
  parts->weights.insert_or_assign(digest, std::move(tensor));
  return Constant::OfWeight(type, std::move(digest));
}

// The digests of initializers whose elements lie in the proto as they are and will be weights: the
// one time that a weight's bytes are read, because from here on its digest stands for them.
std::vector<std::optional<Digest>> DigestsOf(const onnx::GraphProto& graph, int threads) {
  std::vector<std::optional<Digest>> digests(graph.initializer.size());
  ParallelFor(threads, static_cast<int>(digests.size()), [&](int index) {
    const auto place = static_cast<size_t>(index);
    const onnx::TensorProto& proto = graph.initializer[place];
    if (!IsSupportedDataType(proto.data_type()) || !proto.raw_data.has()) return;
    const absl::StatusOr<Tensor> tensor = ReadTensorProto(proto, nullptr);
    if (tensor.ok() && !IsInline(*tensor)) digests[place] = DigestOf(tensor->bytes());
  });
  return digests;
}

}  // namespace

absl::Status ReadConstants(int threads, ModelParts* parts) {
  const onnx::GraphProto& graph = parts->proto.graph();
  std::vector<std::optional<Digest>> digests = DigestsOf(graph, threads);
  for (size_t i = 0; i < graph.initializer.size(); ++i) {
    const onnx::TensorProto& initializer = graph.initializer[i];
    if (!IsSupportedDataType(initializer.data_type())) continue;
    PLAIT_ASSIGN_OR_RETURN(ConstantRef constant,
                           ConstantOf(initializer, std::move(digests[i]), parts));
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
