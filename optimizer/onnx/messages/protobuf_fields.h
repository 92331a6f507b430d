#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plait {

// How protobuf writes a value. Groups (3 and 4) are not among them: ONNX has none.
enum class WireType { kVarint = 0, kEightBytes = 1, kLengthDelimited = 2, kFourBytes = 5 };

// One field of a serialized protobuf message, as views into the message's bytes.
struct WireField {
  int number = 0;
  WireType wire_type = WireType::kVarint;
  uint64_t varint = 0;        // the value of a varint; the length of a length-delimited field
  absl::string_view header;   // the tag and, for a length-delimited field, the length
  absl::string_view payload;  // the value without the header
  absl::string_view whole;    // header and payload

  bool is_message() const { return wire_type == WireType::kLengthDelimited; }
};

// Walks the fields of a serialized message without parsing it: what must be known before a parser
// is let loose on the bytes, and what must not change a byte (stripping), is read here. Not
// thread-safe. The bytes must outlive the reader and its fields.
class WireReader {
 public:
  explicit WireReader(absl::string_view message) : rest_(message), size_(message.size()) {}

  // The next field; nullopt at the end.
  // Errors: InvalidArgument with the offset, for bytes that are no protobuf message.
  absl::StatusOr<std::optional<WireField>> Next();

  // What lies behind the field that Next returned last.
  absl::string_view rest() const { return rest_; }

 private:
  absl::Status Error(absl::string_view what) const;

  absl::string_view rest_;
  size_t size_;
};

// Gives each of the varints that `packed` consists of to `take`.
// Errors: InvalidArgument when the last one is not complete or one is longer than 10 bytes.
absl::Status ReadVarints(absl::string_view packed, absl::FunctionRef<void(uint64_t)> take);

// Appends in the shortest encoding, as every serializer writes it.
void AppendVarint(uint64_t value, std::string* out);
void AppendLengthDelimited(int number, absl::string_view payload, std::string* out);

// The payload of the first length-delimited field `number`; nullopt when the message has none or is
// malformed.
std::optional<std::string> FindWireField(absl::string_view message, int number);

}  // namespace plait
