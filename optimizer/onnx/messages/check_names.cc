#include "optimizer/onnx/messages/check_names.h"

#include <cstdint>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace plait {

namespace {

// The bad name is shown in hexadecimal, so that the message itself is text.
absl::Status CheckName(absl::string_view kind, const std::string& name) {
  if (IsUtf8(name)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(kind, " '", absl::CHexEscape(name), "' is not UTF-8"));
}

absl::Status CheckGraph(const onnx::GraphProto& graph);

absl::Status CheckNode(const onnx::NodeProto& node) {
  PLAIT_RETURN_IF_ERROR(CheckName("node name", node.name()));
  PLAIT_RETURN_IF_ERROR(CheckName("operator", node.op_type()));
  PLAIT_RETURN_IF_ERROR(CheckName("operator domain", node.domain()));
  for (const std::string& name : node.input) {
    PLAIT_RETURN_IF_ERROR(CheckName("value name", name));
  }
  for (const std::string& name : node.output) {
    PLAIT_RETURN_IF_ERROR(CheckName("value name", name));
  }
  for (const onnx::AttributeProto& attribute : node.attribute) {
    PLAIT_RETURN_IF_ERROR(CheckName("attribute name", attribute.name()));
    if (attribute.g.has()) PLAIT_RETURN_IF_ERROR(CheckGraph(attribute.g()));
    for (const auto& graph : attribute.graphs) PLAIT_RETURN_IF_ERROR(CheckGraph(graph));
  }
  return absl::OkStatus();
}

absl::Status CheckGraph(const onnx::GraphProto& graph) {
  PLAIT_RETURN_IF_ERROR(CheckName("graph name", graph.name()));
  for (const auto* values : {&graph.input, &graph.output, &graph.value_info}) {
    for (const onnx::ValueInfoProto& value : *values) {
      PLAIT_RETURN_IF_ERROR(CheckName("value name", value.name()));
      for (const auto& dim : value.type().tensor_type().shape().dim) {
        PLAIT_RETURN_IF_ERROR(CheckName("dimension", dim.dim_param()));
      }
    }
  }
  for (const auto& tensor : graph.initializer) {
    PLAIT_RETURN_IF_ERROR(CheckName("initializer name", tensor.name()));
  }
  for (const auto& sparse : graph.sparse_initializer) {
    PLAIT_RETURN_IF_ERROR(CheckName("initializer name", sparse.values().name()));
  }
  for (const auto& node : graph.node) PLAIT_RETURN_IF_ERROR(CheckNode(node));
  return absl::OkStatus();
}

// The length of the well-formed UTF-8 sequence that `text` begins with, 0 when there is none
// (Unicode 15, table 3-7).
size_t SequenceLength(absl::string_view text) {
  const auto byte = [text](size_t index) { return static_cast<uint8_t>(text[index]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (size_t index = 1; index < length; ++index) {
    if ((byte(index) & 0xC0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and what lies beyond U+10FFFF.
  if (lead == 0xE0 && byte(1) < 0xA0) return 0;
  if (lead == 0xED && byte(1) > 0x9F) return 0;
  if (lead == 0xF0 && byte(1) < 0x90) return 0;
  if (lead == 0xF4 && byte(1) > 0x8F) return 0;
  return length;
}

}  // namespace

bool IsUtf8(absl::string_view text) {
  while (!text.empty()) {
    const size_t length = SequenceLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

absl::Status CheckNames(const onnx::ModelProto& model) {
  PLAIT_RETURN_IF_ERROR(CheckName("producer name", model.producer_name()));
  for (const auto& entry : model.metadata_props) {
    PLAIT_RETURN_IF_ERROR(CheckName("metadata key", entry.key()));
  }
  for (const auto& import : model.opset_import) {
    PLAIT_RETURN_IF_ERROR(CheckName("opset domain", import.domain()));
  }
  for (const auto& function : model.functions) {
    PLAIT_RETURN_IF_ERROR(CheckName("function name", function.name()));
    for (const auto& node : function.node) PLAIT_RETURN_IF_ERROR(CheckNode(node));
  }
  return CheckGraph(model.graph());
}

}  // namespace plait
