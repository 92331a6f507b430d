#pragma once

#include <cstdint>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/zero_copy_stream.h>

#include "absl/status/statusor.h"

namespace plait::wire {

// The memory that a serialized message of this type takes once it is parsed: an upper bound, found
// without parsing it. A message in a list takes two bytes to send and a hundred to hold. `size` is
// the message's length. Thread-safe for different streams.
// Errors: ResourceExhausted (LIMIT_EXCEEDED) above `bytes_max`, as soon as that is known;
// InvalidArgument for bytes that are no such message.
absl::StatusOr<int64_t> ParsedBytes(const google::protobuf::Descriptor& type,
                                    google::protobuf::io::ZeroCopyInputStream& bytes, int size,
                                    int64_t bytes_max);

}  // namespace plait::wire
