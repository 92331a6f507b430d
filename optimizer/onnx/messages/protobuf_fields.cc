#include "optimizer/onnx/messages/protobuf_fields.h"

#include "absl/strings/str_cat.h"
#include "protozero/buffer_string.hpp"
#include "protozero/exception.hpp"
#include "protozero/varint.hpp"

namespace plait {

namespace {

// Takes a varint off the front of `bytes`; false when it is not complete or has more than 10 bytes.
// The one place that catches what protozero throws.
bool TakeVarint(absl::string_view* bytes, uint64_t* value) {
  const char* position = bytes->data();
  try {
    *value = protozero::decode_varint(&position, bytes->data() + bytes->size());
  } catch (const protozero::exception&) {
    return false;
  }
  bytes->remove_prefix(static_cast<size_t>(position - bytes->data()));
  return true;
}

}  // namespace

absl::Status WireReader::Error(absl::string_view what) const {
  return absl::InvalidArgumentError(absl::StrCat(what, " at offset ", size_ - rest_.size(),
                                                 " of a protobuf message of ", size_, " bytes"));
}

absl::StatusOr<std::optional<WireField>> WireReader::Next() {
  if (rest_.empty()) return std::nullopt;
  const absl::string_view start = rest_;
  uint64_t tag = 0;
  if (!TakeVarint(&rest_, &tag)) return Error("unreadable field tag");
  WireField field;
  field.wire_type = static_cast<WireType>(tag & 7);
  if (tag >> 3 == 0 || tag >> 32 != 0) return Error("field number out of range");
  field.number = static_cast<int>(tag >> 3);
  uint64_t length = 0;
  absl::string_view before_value = rest_;
  switch (field.wire_type) {
    case WireType::kVarint:
      if (!TakeVarint(&rest_, &field.varint)) return Error("unreadable integer");
      length = before_value.size() - rest_.size();
      break;
    case WireType::kEightBytes:
      length = 8;
      break;
    case WireType::kFourBytes:
      length = 4;
      break;
    case WireType::kLengthDelimited:
      if (!TakeVarint(&rest_, &length)) return Error("unreadable length");
      field.varint = length;
      before_value = rest_;
      break;
    default:
      return Error(absl::StrCat("unknown wire type ", tag & 7));
  }
  // Before any arithmetic on it: a length may claim 2^64 - 1 bytes.
  if (length > before_value.size()) return Error("field reaches beyond the end");
  rest_ = before_value.substr(length);
  field.payload = before_value.substr(0, length);
  field.header = start.substr(0, start.size() - before_value.size());
  field.whole = start.substr(0, start.size() - rest_.size());
  return field;
}

absl::Status ReadVarints(absl::string_view packed, absl::FunctionRef<void(uint64_t)> take) {
  while (!packed.empty()) {
    uint64_t number = 0;
    if (!TakeVarint(&packed, &number)) {
      return absl::InvalidArgumentError("packed numbers end within a number");
    }
    take(number);
  }
  return absl::OkStatus();
}

void AppendVarint(uint64_t value, std::string* out) { protozero::add_varint_to_buffer(out, value); }

void AppendLengthDelimited(int number, absl::string_view payload, std::string* out) {
  AppendVarint(static_cast<uint64_t>(number) << 3 | 2, out);
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
