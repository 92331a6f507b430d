#pragma once

#include <cstdint>
#include <string>

#include <google/protobuf/message.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plait {

// 256 MiB: one request carries a handful of plans with their graphs (kGraphTextBytesMax each).
constexpr int64_t kFrameBytesMax = int64_t{256} << 20;
// What a message of the child's takes once it is parsed: few large texts, as in its bytes.
constexpr int64_t kChildMessageParsedBytesMax = kFrameBytesMax + (int64_t{64} << 20);
// 1 GiB: the daemon's first message has kProfilesPerDeviceMax profiles of 2 KiB and a log.
constexpr int64_t kParentMessageParsedBytesMax = int64_t{1} << 30;

// A message with its length in front: 4 bytes, little-endian.
// Errors: ResourceExhausted when the message is longer than kFrameBytesMax.
// A length and not a delimiter, because messages may hold any byte.
absl::StatusOr<std::string> FrameOf(const google::protobuf::MessageLite& message);

// Writes all bytes to a socket that blocks.
// Errors: Unavailable when the other end is gone.
// Blocks until the other end has read enough; raises no SIGPIPE.
absl::Status WriteAll(int socket, absl::string_view bytes);

// Takes messages out of a stream of bytes from someone who is not trusted. Memory grows with the
// bytes that have come, not with the length that was announced, and a message is weighed before it
// is parsed. Not thread-safe.
class FrameReader {
 public:
  // `parsed_bytes_max`: what one message may take in memory.
  explicit FrameReader(int64_t parsed_bytes_max) : parsed_bytes_max_(parsed_bytes_max) {}

  void Append(absl::string_view bytes) { buffer_.append(bytes.data(), bytes.size()); }

  // True when a whole message was there and is now in `message`.
  // Errors: InvalidArgument for an announced length above kFrameBytesMax, for bytes that are no
  // such message and for a message that takes too much; the stream cannot be read any further then.
  absl::StatusOr<bool> Next(google::protobuf::Message* message);

 private:
  const int64_t parsed_bytes_max_;
  std::string buffer_;
};

// Reads from a socket that blocks until there is a whole message.
// Errors: Unavailable when the other end is gone; those of FrameReader::Next.
absl::Status ReadFrame(int socket, FrameReader& reader, google::protobuf::Message* message);

}  // namespace plait
