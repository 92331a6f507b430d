#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optimizer/ir/graph.h"
#include "optimizer/onnx/messages/messages.h"

namespace plait {

// The attributes of a kOpaque node.
constexpr absl::string_view kOpaqueDomain = "domain";
constexpr absl::string_view kOpaqueOpType = "op_type";
constexpr absl::string_view kOpaqueProto = "proto";

// The kOpaque node that stands for `proto`; inputs and outputs are left to the caller: first the
// explicit inputs, then CapturedNames(proto). The message travels in an attribute, so that nothing
// of it is lost but the names of explicit inputs and outputs, not even fields that no
// version of ONNX had when this was built.
absl::StatusOr<Node> MakeOpaqueNode(const onnx::NodeProto& proto);

// The ONNX node that an opaque node stands for. Its explicit inputs and outputs have no names.
// Errors: InvalidArgument when its attributes hold none, or another number of inputs or outputs.
absl::StatusOr<onnx::NodeProto> ReadOpaqueNode(const Node& node);

}  // namespace plait
