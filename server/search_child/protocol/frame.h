#pragma once

#include <cstdint>
#include <string>

#include <google/protobuf/message_lite.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plait {

// 256 MiB: one request carries a handful of plans with their graphs (kGraphTextBytesMax each).
constexpr int64_t kFrameBytesMax = int64_t{256} << 20;

// A message with its length in front: 4 bytes, little-endian.
// Errors: ResourceExhausted when the message is longer than kFrameBytesMax.
// A length and not a delimiter, because messages may hold any byte.
absl::StatusOr<std::string> FrameOf(const google::protobuf::MessageLite& message);

// Writes all bytes to a socket that blocks.
// Errors: Unavailable when the other end is gone.
// Blocks until the other end has read enough; raises no SIGPIPE.
absl::Status WriteAll(int socket, absl::string_view bytes);

// Takes messages out of a stream of bytes from someone who is not trusted. Memory grows with the
// bytes that have come, not with the length that was announced. Not thread-safe.
class FrameReader {
 public:
  void Append(absl::string_view bytes) { buffer_.append(bytes.data(), bytes.size()); }

  // True when a whole message was there and is now in `message`.
  // Errors: InvalidArgument for an announced length above kFrameBytesMax and for bytes that are no
  // such message; the stream cannot be read any further then.
  absl::StatusOr<bool> Next(google::protobuf::MessageLite* message);

 private:
  std::string buffer_;
};

// Reads from a socket that blocks until there is a whole message.
// Errors: Unavailable when the other end is gone; those of FrameReader::Next.
absl::Status ReadFrame(int socket, FrameReader& reader, google::protobuf::MessageLite* message);

}  // namespace plait
