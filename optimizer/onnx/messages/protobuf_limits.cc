#include "optimizer/onnx/messages/protobuf_limits.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "optimizer/onnx/messages/protobuf_fields.h"

namespace plait {

namespace {

// The messages through which nodes are reached, and their field numbers in onnx.proto.
enum class Message { kModel, kFunction, kGraph, kNode, kAttribute, kOther };

Message ChildOf(Message parent, int field) {
  switch (parent) {
    case Message::kModel:
      return field == 7 ? Message::kGraph : field == 25 ? Message::kFunction : Message::kOther;
    case Message::kFunction:
      return field == 7 ? Message::kNode : Message::kOther;
    case Message::kGraph:
      return field == 1 ? Message::kNode : Message::kOther;
    case Message::kNode:
      return field == 5 ? Message::kAttribute : Message::kOther;
    case Message::kAttribute:
      return field == 6 || field == 11 ? Message::kGraph : Message::kOther;
    case Message::kOther:
      break;
  }
  return Message::kOther;
}

// One walk over the bytes that allocates nothing, where parsing would first build what turns out to
// be too much. Everything that a parser turns into objects is a field, so counting fields bounds
// its memory; recursion stops at the depth of subgraphs.
class LimitChecker {
 public:
  absl::Status Check(Message message, absl::string_view bytes, int graph_depth) {
    if (graph_depth > kSubgraphDepthMax + 1) {
      return absl::ResourceExhaustedError(
          absl::StrCat("subgraphs are nested deeper than ", kSubgraphDepthMax));
    }
    WireReader reader(bytes);
    while (true) {
      PLAIT_ASSIGN_OR_RETURN(const std::optional<WireField> field, reader.Next());
      if (!field.has_value()) return absl::OkStatus();
      if (++fields_ > kModelFieldsMax) {
        return absl::ResourceExhaustedError(
            absl::StrCat("the model has more than ", kModelFieldsMax, " fields"));
      }
      if (!field->is_message()) continue;
      const Message child = ChildOf(message, field->number);
      if (child == Message::kOther) continue;
      if (child == Message::kNode && ++nodes_ > kModelNodesMax) {
        return absl::ResourceExhaustedError(
            absl::StrCat("the model has more than ", kModelNodesMax, " nodes"));
      }
      const int depth = graph_depth + (child == Message::kGraph ? 1 : 0);
      PLAIT_RETURN_IF_ERROR(Check(child, field->payload, depth));
    }
  }

 private:
  int64_t nodes_ = 0;
  int64_t fields_ = 0;
};

}  // namespace

absl::Status CheckModelWire(absl::string_view bytes) {
  if (bytes.empty()) return absl::InvalidArgumentError("the model is empty (0 bytes)");
  if (static_cast<int64_t>(bytes.size()) > kModelProtoBytesMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the model has ", bytes.size(), " bytes, more than ", kModelProtoBytesMax,
                     ", the largest protobuf message (strip its weights first)"));
  }
  return LimitChecker().Check(Message::kModel, bytes, 0);
}

}  // namespace plait
