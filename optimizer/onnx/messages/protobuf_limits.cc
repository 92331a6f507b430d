#include "optimizer/onnx/messages/protobuf_limits.h"

#include <algorithm>
#include <cstdint>

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/message_walk.h"
#include "base/status_macros.h"
#include "onnx/onnx_pb.h"

namespace plait {

namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// What a field takes in memory, at most; see kModelFieldsMax.
constexpr int64_t kFieldBytes = 200;

// How much more memory packed numbers take than bytes in the file. Those of a fixed size lie in
// memory as in the file; a varint of one byte becomes four or eight.
int64_t PackedGrowthBytes(const SerializedField& field) {
  int64_t element_bytes = 0;
  switch (field.known->type()) {
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
  return std::max<int64_t>(0, field.packed_numbers * element_bytes - field.payload_bytes);
}

// Everything that a parser turns into objects is a field, of the model or of any message in it, so
// counting fields bounds its memory.
class LimitChecker final : public MessageVisitor {
 public:
  absl::Status Field(const SerializedField& field) override {
    PLAIT_RETURN_IF_ERROR(CountFields(1));
    if (field.packed_numbers == 0) return absl::OkStatus();
    packed_growth_bytes_ += PackedGrowthBytes(field);
    PLAIT_RETURN_IF_ERROR(CountFields(packed_growth_bytes_ / kFieldBytes));
    packed_growth_bytes_ %= kFieldBytes;
    return absl::OkStatus();
  }

  absl::Status Enter(const Descriptor& type) override {
    if (&type == onnx::NodeProto::descriptor() && ++nodes_ > kModelNodesMax) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the model has more than ", kModelNodesMax, " nodes"));
    }
    if (&type == onnx::GraphProto::descriptor() && ++graph_depth_ > kSubgraphDepthMax + 1) {
      return absl::ResourceExhaustedError(
          absl::StrCat("subgraphs are nested deeper than ", kSubgraphDepthMax));
    }
    return absl::OkStatus();
  }

  void Leave(const Descriptor& type) override {
    if (&type == onnx::GraphProto::descriptor()) --graph_depth_;
  }

 private:
  absl::Status CountFields(int64_t count) {
    fields_ += count;
    if (fields_ <= kModelFieldsMax) return absl::OkStatus();
    return absl::ResourceExhaustedError(
        absl::StrCat("the model has more than ", kModelFieldsMax, " fields"));
  }

  int64_t nodes_ = 0;
  int64_t graph_depth_ = 0;
  int64_t fields_ = 0;
  int64_t packed_growth_bytes_ = 0;  // that is not yet counted as fields
};

}  // namespace

absl::Status CheckModelWire(absl::string_view bytes) {
  if (bytes.empty()) return absl::InvalidArgumentError("the model is empty (0 bytes)");
  if (static_cast<int64_t>(bytes.size()) > kModelBytesMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the model has ", bytes.size(), " bytes, more than ", kModelBytesMax,
                     ", the largest protobuf message (strip its weights first)"));
  }
  const int size = static_cast<int>(bytes.size());
  google::protobuf::io::ArrayInputStream stream(bytes.data(), size);
  LimitChecker checker;
  absl::Status status = WalkMessage(*onnx::ModelProto::descriptor(), stream, size, checker);
  if (!absl::IsInvalidArgument(status)) return status;
  return absl::InvalidArgumentError(absl::StrCat("not an ONNX model: ", status.message()));
}

}  // namespace plait
