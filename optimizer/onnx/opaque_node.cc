#include "optimizer/onnx/opaque_node.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/onnx/messages/captured_names.h"
#include "optimizer/onnx/messages/read_message.h"
#include "optimizer/onnx/messages/write_message.h"

namespace plait {

absl::StatusOr<Node> MakeOpaqueNode(const onnx::NodeProto& proto) {
  // What it reads and writes is said by the graph: equal constants have one name in a file that is
  // written, and had two in the file that was read.
  onnx::NodeProto unnamed = proto;
  for (std::string& input : unnamed.input) input.clear();
  for (std::string& output : unnamed.output) output.clear();
  PLAIT_ASSIGN_OR_RETURN(std::string bytes, WriteMessage(unnamed, "node"));
  Attributes attributes;
  attributes.Set(kOpaqueDomain, proto.domain());
  attributes.Set(kOpaqueOpType, proto.op_type());
  attributes.Set(kOpaqueProto, OpaqueBytes{std::move(bytes)});
  Node node;
  node.op = OpKind::kOpaque;
  node.attributes = MakeAttributes(std::move(attributes));
  if (!proto.name().empty()) node.name = std::make_shared<const std::string>(proto.name());
  return node;
}

absl::StatusOr<onnx::NodeProto> ReadOpaqueNode(const Node& node) {
  const AttributeValue* value = node.attributes->Find(kOpaqueProto);
  const OpaqueBytes* bytes = value == nullptr ? nullptr : std::get_if<OpaqueBytes>(value);
  if (bytes == nullptr) {
    return absl::InvalidArgumentError("an opaque node holds no serialized ONNX node");
  }
  PLAIT_ASSIGN_OR_RETURN(onnx::NodeProto proto,
                         ReadMessage<onnx::NodeProto>(bytes->bytes, "opaque node"));
  // A rewrite that changed what an opaque node reads would be a bug: nothing moves across one.
  const size_t inputs = proto.input.size() + CapturedNames(proto).size();
  if (node.inputs.size() != inputs || node.outputs.size() != proto.output.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the opaque node ", proto.op_type(), " has ", node.inputs.size(), " inputs and ",
        node.outputs.size(), " outputs, but its ONNX node ", inputs, " and ", proto.output.size()));
  }
  return proto;
}

}  // namespace plait
