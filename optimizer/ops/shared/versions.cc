#include "optimizer/ops/shared/versions.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"

namespace plait {

void SetConstantInput(VersionedNode* node, size_t index, Tensor value) {
  if (node->present.size() <= index) {
    node->constants.resize(index + 1);
    node->present.resize(index + 1, false);
    node->input_types.resize(index + 1);
  }
  node->present[index] = true;
  node->input_types[index] = value.type();
  node->constants[index] = std::move(value);
}

// Trailing omitted inputs go too, because a shorter list says the same and compares equal.
void DropInput(VersionedNode* node, size_t index) {
  if (index >= node->present.size()) return;
  node->present[index] = false;
  node->constants[index].reset();
  node->input_types[index] = TensorType{};
  while (!node->present.empty() && !node->present.back()) {
    node->present.pop_back();
    node->constants.pop_back();
    node->input_types.pop_back();
  }
}

absl::StatusOr<std::optional<std::vector<int64_t>>> IntsOfInput(const VersionedNode& node,
                                                                size_t index) {
  if (!HasInput(node, index)) return std::optional<std::vector<int64_t>>();
  const std::optional<Tensor>& value = node.constants[index];
  if (!value.has_value() || !IsInteger(value->type().dtype)) {
    return absl::UnimplementedError(
        absl::StrCat("input ", index, " must be a small integer constant in opset ", node.opset));
  }
  return std::optional<std::vector<int64_t>>(value->AsInt64s());
}

void IntsAttributeToInput(VersionedNode* node, absl::string_view name, size_t index) {
  if (!node->attributes.Has(name)) return;
  SetConstantInput(node, index, Tensor::Int64s(node->attributes.Ints(name)));
  node->attributes.Erase(name);
}

absl::Status IntsInputToAttribute(VersionedNode* node, absl::string_view name, size_t index) {
  PLAIT_ASSIGN_OR_RETURN(std::optional<std::vector<int64_t>> values, IntsOfInput(*node, index));
  if (!values.has_value()) return absl::OkStatus();
  node->attributes.Set(name, *std::move(values));
  DropInput(node, index);
  return absl::OkStatus();
}

void MakeAxisPositive(VersionedNode* node, absl::string_view name, int rank) {
  const int64_t axis = node->attributes.Int(name, 0);
  if (axis < 0) node->attributes.Set(name, NormalAxis(axis, rank));
}

void MakeAxesPositive(VersionedNode* node, absl::string_view name, int rank) {
  if (!node->attributes.Has(name)) return;
  std::vector<int64_t> axes = node->attributes.Ints(name);
  for (int64_t& axis : axes) axis = NormalAxis(axis, rank);
  node->attributes.Set(name, std::move(axes));
}

absl::Status NeedsOpset(absl::string_view what, int opset) {
  return absl::UnimplementedError(absl::StrCat(what, " needs opset ", opset));
}

absl::Status LowerVariadic(VersionedNode* node) {
  for (const TensorType& type : node->input_types) {
    if (node->opset < 12 && !IsFloat(type.dtype)) return NeedsOpset("an integer form", 12);
    if (node->opset < 8 && type.shape != node->input_types[0].shape) {
      return NeedsOpset("broadcasting", 8);
    }
  }
  return absl::OkStatus();
}

}  // namespace plait
