#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "loading/host_nodes/host_node.h"

// What the files of this folder define, and what they share.
namespace plait {

using MakeOperator = absl::StatusOr<HostOperator>(const HostNode& node);
MakeOperator MakeNonZero, MakeCompress, MakeUnique;
MakeOperator MakeNonMaxSuppression, MakeRoiAlign;
MakeOperator MakeIf, MakeLoop, MakeScan;

// Errors: InvalidArgument where an input that has to be there is not.
absl::Status CheckGiven(absl::Span<const Tensor> inputs, size_t count);

// Runs a body. Errors: its own; InvalidArgument where it does not give `count` results.
absl::StatusOr<std::vector<Tensor>> RunBody(HostBody& body, absl::Span<const Tensor> inputs,
                                            size_t count);

// Input `index`, or a tensor of kUndefined where it is omitted.
const Tensor& InputOr(absl::Span<const Tensor> inputs, size_t index);

// The elements of a tensor of T, whatever their alignment.
template <typename T>
std::vector<T> ElementsAs(const Tensor& tensor) {
  std::vector<T> elements(static_cast<size_t>(tensor.elements()));
  if (!elements.empty()) {
    std::memcpy(elements.data(), tensor.bytes().data(), tensor.bytes().size());
  }
  return elements;
}

// A shape seen as rows around one axis: element (outer, index, inner).
struct AroundAxis {
  int64_t outer = 1;
  int64_t size = 1;
  int64_t inner_bytes = 1;
};
AroundAxis SeenAround(const TensorType& type, int64_t axis);

// The axis that a negative one means. Errors: InvalidArgument.
absl::StatusOr<int64_t> AxisOf(int64_t axis, int rank);

}  // namespace plait
