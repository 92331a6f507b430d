#include "optimizer/onnx/messages/protobuf_limits.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "onnx/onnx_pb.h"
#include "optimizer/onnx/messages/protobuf_fields.h"

namespace plait {

namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// 100: protobuf's own limit, beyond which it would call the bytes no message.
constexpr int kMessageDepthMax = 100;
// What a field takes in memory, at most; see kModelFieldsMax.
constexpr int64_t kFieldBytes = 200;

// How much more memory packed numbers take than bytes in the file. Those of a fixed size lie in
// memory as in the file; a varint of one byte becomes four or eight.
int64_t PackedGrowthBytes(const FieldDescriptor& field, absl::string_view payload) {
  int64_t element_bytes = 0;
  switch (field.type()) {
    case FieldDescriptor::TYPE_INT64:
    case FieldDescriptor::TYPE_UINT64:
    case FieldDescriptor::TYPE_SINT64:
      element_bytes = 8;
      break;
    case FieldDescriptor::TYPE_INT32:
    case FieldDescriptor::TYPE_UINT32:
    case FieldDescriptor::TYPE_SINT32:
    case FieldDescriptor::TYPE_ENUM:
      element_bytes = 4;
      break;
    default:
      return 0;
  }
  // The last byte of each varint, and no other, has no high bit.
  const int64_t elements =
      std::count_if(payload.begin(), payload.end(), [](char byte) { return (byte & 0x80) == 0; });
  return std::max<int64_t>(0, elements * element_bytes - static_cast<int64_t>(payload.size()));
}

// One walk over the bytes that allocates nothing, where parsing would first build what turns out to
// be too much. Everything that a parser turns into objects is a field, of the model or of any
// message in it, so counting fields bounds its memory. What is nested in which is read from the
// messages' own descriptors: no message is forgotten.
class LimitChecker {
 public:
  // `depth` counts messages, `graph_depth` the graphs among them.
  absl::Status Check(const Descriptor& type, absl::string_view bytes, int depth, int graph_depth) {
    if (graph_depth > kSubgraphDepthMax + 1) {
      return absl::ResourceExhaustedError(
          absl::StrCat("subgraphs are nested deeper than ", kSubgraphDepthMax));
    }
    if (depth > kMessageDepthMax) {
      return absl::ResourceExhaustedError(
          absl::StrCat("messages are nested deeper than ", kMessageDepthMax));
    }
    WireReader reader(bytes);
    while (true) {
      PLAIT_ASSIGN_OR_RETURN(const std::optional<WireField> field, reader.Next());
      if (!field.has_value()) return absl::OkStatus();
      PLAIT_RETURN_IF_ERROR(CountFields(1));
      if (!field->is_message()) continue;
      const FieldDescriptor* const known = type.FindFieldByNumber(field->number);
      // A parser keeps an unknown field as it is.
      if (known == nullptr) continue;
      if (known->is_packable()) {
        packed_growth_bytes_ += PackedGrowthBytes(*known, field->payload);
        PLAIT_RETURN_IF_ERROR(CountFields(packed_growth_bytes_ / kFieldBytes));
        packed_growth_bytes_ %= kFieldBytes;
      }
      if (known->message_type() == nullptr) continue;
      PLAIT_RETURN_IF_ERROR(
          CheckMessage(*known->message_type(), field->payload, depth + 1, graph_depth));
    }
  }

 private:
  absl::Status CheckMessage(const Descriptor& type, absl::string_view bytes, int depth,
                            int graph_depth) {
    if (&type == onnx::NodeProto::descriptor() && ++nodes_ > kModelNodesMax) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the model has more than ", kModelNodesMax, " nodes"));
    }
    const bool is_graph = &type == onnx::GraphProto::descriptor();
    return Check(type, bytes, depth, graph_depth + (is_graph ? 1 : 0));
  }

  absl::Status CountFields(int64_t count) {
    fields_ += count;
    if (fields_ <= kModelFieldsMax) return absl::OkStatus();
    return absl::ResourceExhaustedError(
        absl::StrCat("the model has more than ", kModelFieldsMax, " fields"));
  }

  int64_t nodes_ = 0;
  int64_t fields_ = 0;
  int64_t packed_growth_bytes_ = 0;  // that is not yet counted as fields
};

}  // namespace

absl::Status CheckModelWire(absl::string_view bytes) {
  if (bytes.empty()) return absl::InvalidArgumentError("the model is empty (0 bytes)");
  if (static_cast<int64_t>(bytes.size()) > kModelProtoBytesMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the model has ", bytes.size(), " bytes, more than ", kModelProtoBytesMax,
                     ", the largest protobuf message (strip its weights first)"));
  }
  return LimitChecker().Check(*onnx::ModelProto::descriptor(), bytes, 0, 0);
}

}  // namespace plait
