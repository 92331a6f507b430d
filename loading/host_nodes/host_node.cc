#include "loading/host_nodes/host_node.h"

#include <algorithm>
#include <iterator>

#include "loading/host_nodes/operators.h"

namespace plait {
namespace {

struct Entry {
  absl::string_view op_type;
  MakeOperator* make;
};

constexpr Entry kOperators[] = {
    {"NonZero", MakeNonZero},   {"Compress", MakeCompress},
    {"Unique", MakeUnique},     {"NonMaxSuppression", MakeNonMaxSuppression},
    {"RoiAlign", MakeRoiAlign}, {"If", MakeIf},
    {"Loop", MakeLoop},         {"Scan", MakeScan},
};

const Entry* FindEntry(absl::string_view op_type) {
  const auto* const found =
      std::find_if(std::begin(kOperators), std::end(kOperators),
                   [&](const Entry& entry) { return entry.op_type == op_type; });
  return found == std::end(kOperators) ? nullptr : found;
}

}  // namespace

const onnx::AttributeProto* HostNode::Find(absl::string_view name) const {
  for (const onnx::AttributeProto& attribute : proto.attribute) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

int64_t HostNode::Integer(absl::string_view name, int64_t without) const {
  return OptionalInteger(name).value_or(without);
}

std::optional<int64_t> HostNode::OptionalInteger(absl::string_view name) const {
  const onnx::AttributeProto* const attribute = Find(name);
  if (attribute == nullptr) return std::nullopt;
  return attribute->i();
}

std::vector<int64_t> HostNode::Integers(absl::string_view name) const {
  const onnx::AttributeProto* const attribute = Find(name);
  return attribute == nullptr ? std::vector<int64_t>() : attribute->ints;
}

float HostNode::Number(absl::string_view name, float without) const {
  const onnx::AttributeProto* const attribute = Find(name);
  return attribute == nullptr ? without : attribute->f();
}

std::string HostNode::Text(absl::string_view name, absl::string_view without) const {
  const onnx::AttributeProto* const attribute = Find(name);
  return attribute == nullptr ? std::string(without) : attribute->s();
}

bool IsHostOperator(absl::string_view op_type) { return FindEntry(op_type) != nullptr; }

absl::StatusOr<HostOperator> MakeHostOperator(const HostNode& node) {
  return FindEntry(node.proto.op_type())->make(node);
}

absl::Status CheckGiven(absl::Span<const Tensor> inputs, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (InputOr(inputs, i).type().known()) continue;
    return absl::InvalidArgumentError(absl::StrCat("input ", i, " is missing"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Tensor>> RunBody(HostBody& body, absl::Span<const Tensor> inputs,
                                            size_t count) {
  absl::StatusOr<std::vector<Tensor>> results = body.Run(inputs);
  if (!results.ok() || results->size() == count) return results;
  return absl::InvalidArgumentError(
      absl::StrCat("the body gives ", results->size(), " results, declares ", count));
}

const Tensor& InputOr(absl::Span<const Tensor> inputs, size_t index) {
  static const Tensor kOmitted;
  return index < inputs.size() ? inputs[index] : kOmitted;
}

AroundAxis SeenAround(const TensorType& type, int64_t axis) {
  AroundAxis seen;
  for (int64_t i = 0; i < axis; ++i) seen.outer *= type.shape[i];
  seen.size = type.shape[axis];
  seen.inner_bytes = BytesOf(type.dtype);
  for (int64_t i = axis + 1; i < type.rank(); ++i) seen.inner_bytes *= type.shape[i];
  return seen;
}

absl::StatusOr<int64_t> AxisOf(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("axis ", axis, " is none of a tensor of rank ", rank));
  }
  return axis < 0 ? axis + rank : axis;
}

}  // namespace plait
