#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plait {

// Rewrites one serialized TensorProto: appends its new form to `out`. Appending the same bytes
// leaves the tensor as it was.
using TensorRewriter = std::function<absl::Status(absl::string_view tensor, std::string* out)>;

// Which tensors to visit.
enum class TensorScope {
  kWeights,  // initializers of the graph and values of its Constant nodes
  kAll,      // these, and the same in subgraphs and in attributes of any node
};

// Applies `rewrite` to the tensors of a serialized ModelProto and copies all other bytes as they
// are. Works on the bytes, not on parsed messages, so that what a newer ONNX put into them stays.
// Errors: InvalidArgument for bytes that are no model, and when the length of a message around a
// tensor is not encoded in the shortest way, so that the original could not be restored; those of
// `rewrite`; ResourceExhausted above the limits of protobuf_limits.h.
absl::StatusOr<std::string> RewriteTensors(absl::string_view model, TensorScope scope,
                                           const TensorRewriter& rewrite);

// Looks at a serialized TensorProto, a view into the model. `name` is that of the value in its
// graph: the initializer's own, or that of its Constant node's output.
using TensorVisitor = std::function<absl::Status(absl::string_view name, absl::string_view tensor)>;

// Shows the tensors of a serialized ModelProto to `visit`, in file order, and copies nothing.
// Errors: InvalidArgument for bytes that are no model; those of `visit`; ResourceExhausted above
// the limits of protobuf_limits.h.
absl::Status VisitTensors(absl::string_view model, TensorScope scope, const TensorVisitor& visit);

}  // namespace plait
