#include "proto/wire/parsed_bytes.h"

#include "absl/strings/str_cat.h"
#include "base/message_walk.h"
#include "base/status_macros.h"
#include "proto/wire/error.h"

namespace plait::wire {
namespace {

using google::protobuf::Descriptor;

// What the allocator and the list around an object take besides it; lists grow by doubling.
constexpr int64_t kObjectBytes = 48;
// A std::string that is allocated by itself, or what stands for an unknown field.
constexpr int64_t kTextBytes = kObjectBytes + 32;
// A number in a list; lists grow by doubling.
constexpr int64_t kNumberBytes = 16;
// A message without its fields, and a field in it: a list takes the most. A map has a table, too.
constexpr int64_t kMessageBytes = kObjectBytes + 48;
constexpr int64_t kFieldBytes = 32;
constexpr int64_t kMapBytes = 160;

class ParsedBytesVisitor final : public MessageVisitor {
 public:
  explicit ParsedBytesVisitor(int64_t bytes_max) : bytes_max_(bytes_max) {}

  int64_t bytes() const { return bytes_; }

  absl::Status Field(const SerializedField& field) override {
    // Its message is counted when it is entered.
    if (field.known != nullptr && field.known->message_type() != nullptr) return absl::OkStatus();
    if (field.packed_numbers > 0) return Add(field.packed_numbers * kNumberBytes);
    if (field.is_length_delimited) return Add(kTextBytes + field.payload_bytes);
    // It lies in its message.
    if (field.known != nullptr && !field.known->is_repeated()) return absl::OkStatus();
    return Add(field.known == nullptr ? kTextBytes : kNumberBytes);
  }

  absl::Status Enter(const Descriptor& type) override {
    int64_t bytes = kMessageBytes + kFieldBytes * type.field_count();
    for (int i = 0; i < type.field_count(); ++i) bytes += type.field(i)->is_map() ? kMapBytes : 0;
    return Add(bytes);
  }

  void Leave(const Descriptor&) override {}

 private:
  absl::Status Add(int64_t bytes) {
    bytes_ += bytes;
    if (bytes_ <= bytes_max_) return absl::OkStatus();
    return Error(v1::ERROR_REASON_LIMIT_EXCEEDED,
                 absl::StrCat("the message would take more than ", bytes_max_,
                              " bytes of memory, the most allowed"));
  }

  const int64_t bytes_max_;
  int64_t bytes_ = 0;
};

}  // namespace

absl::StatusOr<int64_t> ParsedBytes(const Descriptor& type,
                                    google::protobuf::io::ZeroCopyInputStream& bytes, int size,
                                    int64_t bytes_max) {
  ParsedBytesVisitor visitor(bytes_max);
  PLAIT_RETURN_IF_ERROR(WalkMessage(type, bytes, size, visitor));
  return visitor.bytes();
}

}  // namespace plait::wire
