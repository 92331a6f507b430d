#include "base/message_walk.h"

#include <google/protobuf/io/coded_stream.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"

namespace plait {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::io::CodedInputStream;

constexpr int kMessageDepthMax = 100;

// Protobuf's wire types. Groups (3 and 4) are not among them: no message that we read has one.
constexpr int kVarintType = 0;
constexpr int kEightBytesType = 1;
constexpr int kLengthDelimitedType = 2;
constexpr int kFourBytesType = 5;

// How one value of the field is written.
int WireTypeOf(const FieldDescriptor& field) {
  switch (field.type()) {
    case FieldDescriptor::TYPE_DOUBLE:
    case FieldDescriptor::TYPE_FIXED64:
    case FieldDescriptor::TYPE_SFIXED64:
      return kEightBytesType;
    case FieldDescriptor::TYPE_FLOAT:
    case FieldDescriptor::TYPE_FIXED32:
    case FieldDescriptor::TYPE_SFIXED32:
      return kFourBytesType;
    case FieldDescriptor::TYPE_STRING:
    case FieldDescriptor::TYPE_BYTES:
    case FieldDescriptor::TYPE_MESSAGE:
      return kLengthDelimitedType;
    default:
      return kVarintType;
  }
}

class Walker {
 public:
  Walker(google::protobuf::io::ZeroCopyInputStream& bytes, int size, MessageVisitor& visitor)
      : stream_(&bytes), size_(size), visitor_(visitor) {
    stream_.PushLimit(size);
  }

  // Up to the limit of the stream.
  absl::Status Message(const Descriptor& type, int depth) {
    if (depth > kMessageDepthMax) {
      return absl::ResourceExhaustedError(
          absl::StrCat("messages are nested deeper than ", kMessageDepthMax));
    }
    PLAIT_RETURN_IF_ERROR(visitor_.Enter(type));
    while (stream_.BytesUntilLimit() > 0) {
      uint32_t tag = 0;
      if (!stream_.ReadVarint32(&tag) || tag >> 3 == 0) return Malformed("unreadable field tag");
      const int wire_type = static_cast<int>(tag & 7);
      SerializedField field;
      field.known = type.FindFieldByNumber(static_cast<int>(tag >> 3));
      if (wire_type == kLengthDelimitedType) {
        PLAIT_RETURN_IF_ERROR(LengthDelimited(field, depth));
        continue;
      }
      if (field.known != nullptr && WireTypeOf(*field.known) != wire_type) field.known = nullptr;
      PLAIT_RETURN_IF_ERROR(Number(wire_type));
      PLAIT_RETURN_IF_ERROR(visitor_.Field(field));
    }
    visitor_.Leave(type);
    return absl::OkStatus();
  }

 private:
  absl::Status Malformed(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(what, " at offset ", stream_.CurrentPosition(),
                                                   " of a protobuf message of ", size_, " bytes"));
  }

  absl::Status Number(int wire_type) {
    uint64_t value = 0;
    bool is_whole = false;
    switch (wire_type) {
      case kVarintType:
        is_whole = stream_.ReadVarint64(&value);
        break;
      case kEightBytesType:
        is_whole = stream_.Skip(8);
        break;
      case kFourBytesType:
        is_whole = stream_.Skip(4);
        break;
      default:
        return Malformed(absl::StrCat("unknown wire type ", wire_type));
    }
    return is_whole ? absl::OkStatus() : Malformed("unreadable number");
  }

  absl::Status LengthDelimited(SerializedField field, int depth) {
    uint32_t length = 0;
    // Before any arithmetic on it: a length may claim 4 GiB.
    if (!stream_.ReadVarint32(&length) ||
        length > static_cast<uint32_t>(stream_.BytesUntilLimit())) {
      return Malformed("field reaches beyond the end");
    }
    const CodedInputStream::Limit outer = stream_.PushLimit(static_cast<int>(length));
    field.is_length_delimited = true;
    field.payload_bytes = length;
    const bool is_packed = field.known != nullptr && field.known->is_packable();
    if (is_packed) {
      PLAIT_RETURN_IF_ERROR(CountPacked(*field.known, &field.packed_numbers));
    } else if (field.known != nullptr && WireTypeOf(*field.known) != kLengthDelimitedType) {
      field.known = nullptr;
    }
    PLAIT_RETURN_IF_ERROR(visitor_.Field(field));
    const Descriptor* const message =
        field.known == nullptr ? nullptr : field.known->message_type();
    if (message != nullptr) {
      PLAIT_RETURN_IF_ERROR(Message(*message, depth + 1));
    } else if (!stream_.Skip(stream_.BytesUntilLimit())) {
      return Malformed("field reaches beyond the end");
    }
    stream_.PopLimit(outer);
    return absl::OkStatus();
  }

  absl::Status CountPacked(const FieldDescriptor& field, int64_t* count) {
    const int wire_type = WireTypeOf(field);
    if (wire_type != kVarintType) {
      *count = stream_.BytesUntilLimit() / (wire_type == kEightBytesType ? 8 : 4);
      return absl::OkStatus();
    }
    for (; stream_.BytesUntilLimit() > 0; ++*count) PLAIT_RETURN_IF_ERROR(Number(kVarintType));
    return absl::OkStatus();
  }

  CodedInputStream stream_;
  const int size_;
  MessageVisitor& visitor_;
};

}  // namespace

absl::Status WalkMessage(const Descriptor& type, google::protobuf::io::ZeroCopyInputStream& bytes,
                         int size, MessageVisitor& visitor) {
  return Walker(bytes, size, visitor).Message(type, 0);
}

}  // namespace plait
