#include "optimizer/onnx/messages/protobuf_fields.h"

#include "absl/strings/str_cat.h"

namespace plait {

namespace {

// Protobuf's wire types. Groups (3 and 4) are not among them: ONNX has none.
constexpr int kVarintType = 0;
constexpr int kEightBytesType = 1;
constexpr int kLengthDelimitedType = 2;
constexpr int kFourBytesType = 5;

}  // namespace

absl::Status WireReader::Error(absl::string_view what) const {
  return absl::InvalidArgumentError(absl::StrCat("not an ONNX model: ", what, " at offset ",
                                                 size_ - rest_.size(), " of a protobuf message of ",
                                                 size_, " bytes"));
}

bool WireReader::TakeVarint(uint64_t* value) {
  *value = 0;
  // 10 bytes of 7 bits hold 64 bits; a longer varint is malformed.
  for (int index = 0; index < 10 && !rest_.empty(); ++index) {
    const uint8_t byte = static_cast<uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    *value |= static_cast<uint64_t>(byte & 0x7F) << (7 * index);
    if ((byte & 0x80) == 0) return true;
  }
  return false;
}

absl::StatusOr<std::optional<WireField>> WireReader::Next() {
  if (rest_.empty()) return std::nullopt;
  const absl::string_view start = rest_;
  uint64_t tag = 0;
  if (!TakeVarint(&tag)) return Error("unreadable field tag");
  WireField field;
  field.wire_type = static_cast<int>(tag & 7);
  if (tag >> 3 == 0 || tag >> 32 != 0) return Error("field number out of range");
  field.number = static_cast<int>(tag >> 3);
  uint64_t length = 0;
  absl::string_view before_value = rest_;
  switch (field.wire_type) {
    case kVarintType:
      if (!TakeVarint(&field.varint)) return Error("unreadable integer");
      length = before_value.size() - rest_.size();
      break;
    case kEightBytesType:
      length = 8;
      break;
    case kFourBytesType:
      length = 4;
      break;
    case kLengthDelimitedType:
      if (!TakeVarint(&length)) return Error("unreadable length");
      field.varint = length;
      before_value = rest_;
      break;
    default:
      return Error(absl::StrCat("unknown wire type ", field.wire_type));
  }
  // Before any arithmetic on it: a length may claim 2^64 - 1 bytes.
  if (length > before_value.size()) return Error("field reaches beyond the end");
  rest_ = before_value.substr(length);
  field.payload = before_value.substr(0, length);
  field.header = start.substr(0, start.size() - before_value.size());
  field.whole = start.substr(0, start.size() - rest_.size());
  return field;
}

void AppendVarint(uint64_t value, std::string* out) {
  while (value >= 0x80) {
    out->push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out->push_back(static_cast<char>(value));
}

void AppendLengthDelimited(int number, absl::string_view payload, std::string* out) {
  AppendVarint(static_cast<uint64_t>(number) << 3 | kLengthDelimitedType, out);
  AppendVarint(payload.size(), out);
  out->append(payload.data(), payload.size());
}

std::optional<std::string> FindWireField(absl::string_view message, int number) {
  WireReader reader(message);
  while (true) {
    const absl::StatusOr<std::optional<WireField>> field = reader.Next();
    if (!field.ok() || !field->has_value()) return std::nullopt;
    if ((*field)->number == number && (*field)->is_message()) {
      return std::string((*field)->payload);
    }
  }
}

}  // namespace plait
