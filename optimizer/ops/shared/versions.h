#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "optimizer/ops/shared/op_spec.h"

// Steps of OpSpec::raise and lower. The usual change between opsets is an attribute that becomes an
// input: Squeeze {axes=[0]} of opset 11 is Squeeze(x, [0]) since 13.
namespace plait {

// Makes input `index` the constant `value`; inputs in between that the node lacks are omitted.
void SetConstantInput(VersionedNode* node, size_t index, Tensor value);

// Omits input `index`, and shortens the list when it was the last one.
void DropInput(VersionedNode* node, size_t index);

// False for an omitted input.
inline bool HasInput(const VersionedNode& node, size_t index) {
  return index < node.present.size() && node.present[index];
}

// The integers of input `index`; nullopt when the input is omitted.
// Errors: Unimplemented when its value is no inline constant.
absl::StatusOr<std::optional<std::vector<int64_t>>> IntsOfInput(const VersionedNode& node,
                                                                size_t index);

// Moves the integers of attribute `name`, if it is there, to input `index`.
void IntsAttributeToInput(VersionedNode* node, absl::string_view name, size_t index);

// Moves the integers of input `index`, if it is there, to attribute `name`.
// Errors: as IntsOfInput.
absl::Status IntsInputToAttribute(VersionedNode* node, absl::string_view name, size_t index);

// Counts the attribute `name`, an axis of a tensor of `rank`, from the front: opsets before 11 know
// no negative axes.
void MakeAxisPositive(VersionedNode* node, absl::string_view name, int rank);

// The same for a list of axes.
void MakeAxesPositive(VersionedNode* node, absl::string_view name, int rank);

// "... needs opset N": what `lower` answers when the target opset lacks a form of the operator.
absl::Status NeedsOpset(absl::string_view what, int opset);

// OpSpec::lower of Max, Min and Sum.
// Errors: Unimplemented before opset 8 when shapes differ, and before 12 when elements are
// integers.
absl::Status LowerVariadic(VersionedNode* node);

}  // namespace plait
