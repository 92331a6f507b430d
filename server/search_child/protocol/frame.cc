#include "server/search_child/protocol/frame.h"

#include <cerrno>

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/wire/parsed_bytes.h"

namespace plait {
namespace {

constexpr size_t kHeaderBytes = 4;
// One read of a socket; large messages take many.
constexpr size_t kReadBytes = size_t{64} << 10;

}  // namespace

absl::StatusOr<std::string> FrameOf(const google::protobuf::MessageLite& message) {
  const size_t size = message.ByteSizeLong();
  if (size > static_cast<size_t>(kFrameBytesMax)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a message of ", size, " bytes is larger than the limit of ", kFrameBytesMax));
  }
  std::string frame;
  // Byte by byte, so that the order does not depend on the processor.
  for (size_t i = 0; i < kHeaderBytes; ++i) frame.push_back(static_cast<char>(size >> (8 * i)));
  message.AppendToString(&frame);
  return frame;
}

absl::Status WriteAll(int socket, absl::string_view bytes) {
  while (!bytes.empty()) {
    // Without the signal: a child that died is an error of this job and no end of the daemon.
    const ssize_t written = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return absl::UnavailableError("the other end of the socket is gone");
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> FrameReader::Next(google::protobuf::Message* message) {
  if (buffer_.size() < kHeaderBytes) return false;
  uint32_t size = 0;
  for (size_t i = 0; i < kHeaderBytes; ++i) {
    size |= static_cast<uint32_t>(static_cast<unsigned char>(buffer_[i])) << (8 * i);
  }
  // Before the bytes come: nobody can make us wait for, or keep, more than the limit.
  if (size > kFrameBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("a message announces ", size, " bytes; the limit is ", kFrameBytesMax));
  }
  if (buffer_.size() < kHeaderBytes + size) return false;
  const char* const bytes = buffer_.data() + kHeaderBytes;
  google::protobuf::io::ArrayInputStream stream(bytes, static_cast<int>(size));
  const absl::StatusOr<int64_t> parsed_bytes = wire::ParsedBytes(
      *message->GetDescriptor(), stream, static_cast<int>(size), parsed_bytes_max_);
  // Whatever it is that is wrong with the message, whoever has sent it is at fault.
  if (!parsed_bytes.ok()) return absl::InvalidArgumentError(parsed_bytes.status().message());
  if (!message->ParseFromArray(bytes, static_cast<int>(size))) {
    return absl::InvalidArgumentError("a message cannot be parsed");
  }
  // More messages may follow in the buffer; the next call finds them.
  buffer_.erase(0, kHeaderBytes + size);
  return true;
}

absl::Status ReadFrame(int socket, FrameReader& reader, google::protobuf::Message* message) {
  std::string bytes(kReadBytes, '\0');
  while (true) {
    PLAIT_ASSIGN_OR_RETURN(const bool complete, reader.Next(message));
    if (complete) return absl::OkStatus();
    const ssize_t count = read(socket, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return absl::UnavailableError("the other end of the socket is gone");
    reader.Append(absl::string_view(bytes.data(), static_cast<size_t>(count)));
  }
}

}  // namespace plait
