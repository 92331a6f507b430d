#include "optimizer/onnx/messages/rewrite_tensors.h"

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "optimizer/onnx/messages/protobuf_fields.h"
#include "optimizer/onnx/messages/protobuf_limits.h"

namespace plait {

namespace {

// The messages on the way to an initializer, with their field numbers in onnx.proto.
enum class Message { kModel, kGraph, kFunction, kNode, kAttribute, kTensor, kOther };

Message ChildOf(Message parent, int field) {
  switch (parent) {
    case Message::kModel:
      return field == 7 ? Message::kGraph : field == 25 ? Message::kFunction : Message::kOther;
    case Message::kFunction:
      return field == 7 ? Message::kNode : field == 11 ? Message::kAttribute : Message::kOther;
    case Message::kGraph:
      return field == 1 ? Message::kNode : field == 5 ? Message::kTensor : Message::kOther;
    case Message::kNode:
      return field == 5 ? Message::kAttribute : Message::kOther;
    case Message::kAttribute:
      return field == 5 || field == 10   ? Message::kTensor
             : field == 6 || field == 11 ? Message::kGraph
                                         : Message::kOther;
    default:
      return Message::kOther;
  }
}

// By name alone, whatever the domain: taking out and putting back ask the same question.
bool IsConstantNode(absl::string_view node) {
  constexpr int kOpTypeField = 4;
  return FindWireField(node, kOpTypeField) == "Constant";
}

// The message in a field of another one, or kOther where nothing in it is to be visited.
Message VisitedIn(Message message, const WireField& field, TensorScope scope) {
  if (!field.is_message()) return Message::kOther;
  const Message child = ChildOf(message, field.number);
  if (scope == TensorScope::kAll) return child;
  const bool inner_graph = message == Message::kAttribute && child == Message::kGraph;
  if (child == Message::kFunction) return Message::kOther;
  const bool other_node = child == Message::kNode && !IsConstantNode(field.payload);
  return inner_graph || other_node ? Message::kOther : child;
}

// Only shortest encodings can be restored from the payload alone.
absl::Status CheckShortest(const WireField& field) {
  std::string shortest;
  AppendVarint(static_cast<uint64_t>(field.number) << 3 | 2, &shortest);
  AppendVarint(field.payload.size(), &shortest);
  if (field.header == shortest) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "the model's message lengths are not encoded in the shortest way, so its weights cannot be "
      "stripped (save it again with onnx.save)");
}

// Recursion follows the nesting of messages, whose depth CheckModelWire has bounded.
class Rewriter {
 public:
  Rewriter(TensorScope scope, const TensorRewriter& rewrite) : scope_(scope), rewrite_(rewrite) {}

  absl::Status Rewrite(Message message, absl::string_view bytes, std::string* out) {
    if (message == Message::kTensor) return rewrite_(bytes, out);
    WireReader reader(bytes);
    while (true) {
      PLAIT_ASSIGN_OR_RETURN(const std::optional<WireField> field, reader.Next());
      if (!field.has_value()) return absl::OkStatus();
      const Message child = VisitedIn(message, *field, scope_);
      if (child == Message::kOther) {
        out->append(field->whole.data(), field->whole.size());
        continue;
      }
      PLAIT_RETURN_IF_ERROR(CheckShortest(*field));
      std::string rewritten;
      PLAIT_RETURN_IF_ERROR(Rewrite(child, field->payload, &rewritten));
      AppendLengthDelimited(field->number, rewritten, out);
      if (static_cast<int64_t>(out->size()) > kModelBytesMax) {
        return absl::ResourceExhaustedError(
            absl::StrCat("the model with its weights would have more than ", kModelBytesMax,
                         " bytes, the largest protobuf message"));
      }
    }
  }

 private:
  TensorScope scope_;
  const TensorRewriter& rewrite_;
};

// `name` is that of the node around the message, if there is one. Recursion follows the nesting of
// messages, whose depth CheckModelWire has bounded.
absl::Status Visit(Message message, absl::string_view bytes, const std::string& name,
                   TensorScope scope, const TensorVisitor& visit) {
  constexpr int kNodeOutputField = 2;
  constexpr int kTensorNameField = 8;
  WireReader reader(bytes);
  while (true) {
    PLAIT_ASSIGN_OR_RETURN(const std::optional<WireField> field, reader.Next());
    if (!field.has_value()) return absl::OkStatus();
    const Message child = VisitedIn(message, *field, scope);
    if (child == Message::kOther) continue;
    const bool is_named = child == Message::kNode || message == Message::kGraph;
    const std::string child_name =
        is_named ? FindWireField(field->payload,
                                 child == Message::kNode ? kNodeOutputField : kTensorNameField)
                       .value_or("")
                 : name;
    if (child == Message::kTensor) {
      PLAIT_RETURN_IF_ERROR(visit(child_name, field->payload));
    } else {
      PLAIT_RETURN_IF_ERROR(Visit(child, field->payload, child_name, scope, visit));
    }
  }
}

}  // namespace

absl::StatusOr<std::string> RewriteTensors(absl::string_view model, TensorScope scope,
                                           const TensorRewriter& rewrite) {
  PLAIT_RETURN_IF_ERROR(CheckModelWire(model));
  std::string rewritten;
  PLAIT_RETURN_IF_ERROR(Rewriter(scope, rewrite).Rewrite(Message::kModel, model, &rewritten));
  return rewritten;
}

absl::Status VisitTensors(absl::string_view model, TensorScope scope, const TensorVisitor& visit) {
  PLAIT_RETURN_IF_ERROR(CheckModelWire(model));
  return Visit(Message::kModel, model, "", scope, visit);
}

}  // namespace plait
