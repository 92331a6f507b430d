#pragma once

#include <cstdint>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/zero_copy_stream.h>

#include "absl/status/status.h"

namespace plait {

// One field of a serialized message, as its bytes show it.
struct SerializedField {
  // Null for what a parser keeps as an unknown field: the message has no field of that number, or
  // one that is written in another way.
  const google::protobuf::FieldDescriptor* known = nullptr;
  bool is_length_delimited = false;
  int64_t payload_bytes = 0;   // of a length-delimited field
  int64_t packed_numbers = 0;  // in a length-delimited field of numbers
};

// Is told what a serialized message holds, in the order of its bytes. An error ends the walk.
class MessageVisitor {
 public:
  virtual ~MessageVisitor() = default;

  // A field of the message that was entered last; if it is a message, it is entered next.
  virtual absl::Status Field(const SerializedField& field) = 0;
  // The outermost message is one of them.
  virtual absl::Status Enter(const google::protobuf::Descriptor& type) = 0;
  virtual void Leave(const google::protobuf::Descriptor& type) = 0;
};

// Walks over a serialized message of this type, and all messages in it, without building anything:
// parsing would first build what turns out to be too much. What is nested in which is read from the
// messages' own descriptors, so that no message is forgotten. `size` is the message's length; no
// more is read. Thread-safe for different streams.
// Errors: the visitor's; InvalidArgument for bytes that are no such message, which include all
// groups; ResourceExhausted when more than 100 messages are nested, protobuf's own limit.
absl::Status WalkMessage(const google::protobuf::Descriptor& type,
                         google::protobuf::io::ZeroCopyInputStream& bytes, int size,
                         MessageVisitor& visitor);

}  // namespace plait
