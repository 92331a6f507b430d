#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "optimizer/ir/tensor.h"
#include "optimizer/onnx/messages/messages.h"

// Operators that plait computes node by node, by their definition, on one thread: those whose
// results have a size that depends on what is in their inputs, and those that run subgraphs. One
// file for each.
//   non_zero, compress, unique       which elements
//   non_max_suppression, roi_align   of detectors
//   branches (If), loop, scan        which run subgraphs
namespace plait {

// A subgraph of a node, ready to run at any sizes of what it reads. Not thread-safe.
class HostBody {
 public:
  virtual ~HostBody() = default;

  // `inputs`: the subgraph's own, in order, then what the node reads from outside
  // (CapturedNames), of kUndefined where that is a constant, which the body has.
  // Errors: those of planning and of kernels.
  virtual absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> inputs) = 0;
};

// A node that is to be computed.
struct HostNode {
  const onnx::NodeProto& proto;
  int opset = 0;
  // Makes the subgraph that an attribute holds. Is called while the operator is made, only.
  std::function<std::unique_ptr<HostBody>(absl::string_view attribute)> body = nullptr;

  const onnx::AttributeProto* Find(absl::string_view name) const;
  int64_t Integer(absl::string_view name, int64_t without) const;
  std::optional<int64_t> OptionalInteger(absl::string_view name) const;
  std::vector<int64_t> Integers(absl::string_view name) const;
  float Number(absl::string_view name, float without) const;
  std::string Text(absl::string_view name, absl::string_view without) const;
};

// Computes a node: takes its inputs and what it captures, of kUndefined where one is omitted, and
// gives all outputs. Not thread-safe, and keeps nothing of the node's message.
// Errors: InvalidArgument naming what of the inputs the operator does not take; those of bodies.
using HostOperator =
    std::function<absl::StatusOr<std::vector<Tensor>>(absl::Span<const Tensor> inputs)>;

// Whether there is one for an operator of ONNX's own domain.
bool IsHostOperator(absl::string_view op_type);

// The operator of a node. REQUIRES: IsHostOperator; `body` is there.
// Errors: InvalidArgument for attributes that it does not take, and for missing ones; Unimplemented
// for a Scan of batches, which opset 8 has.
absl::StatusOr<HostOperator> MakeHostOperator(const HostNode& node);

}  // namespace plait
