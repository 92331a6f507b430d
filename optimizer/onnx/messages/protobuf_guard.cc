#include "optimizer/onnx/messages/protobuf_guard.h"

#include <exception>
#include <functional>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"

namespace plait {

namespace {

// Fatal errors of protobuf arrive as exceptions; none may pass into code that does not expect any.
absl::Status Guard(absl::string_view what, const std::function<absl::Status()>& call) {
  try {
    return call();
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": protobuf gave up: ", error.what()));
  }
}

}  // namespace

absl::Status ParseProto(absl::string_view bytes, absl::string_view what,
                        google::protobuf::MessageLite* message) {
  return Guard(what, [&]() -> absl::Status {
    if (static_cast<int64_t>(bytes.size()) > kModelBytesMax) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, ": ", bytes.size(), " bytes are more than protobuf can parse"));
    }
    if (!message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, ": the bytes are truncated or no such protobuf message"));
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<std::string> SerializeProto(const google::protobuf::MessageLite& message,
                                           absl::string_view what) {
  std::string bytes;
  const absl::Status status = Guard(what, [&]() -> absl::Status {
    const size_t size = message.ByteSizeLong();
    if (static_cast<int64_t>(size) > kModelBytesMax) {
      return absl::ResourceExhaustedError(absl::StrCat(what, " would have ", size,
                                                       " bytes, more than ", kModelBytesMax,
                                                       ", the largest protobuf message"));
    }
    bytes.reserve(size);
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    // Partial: ONNX declares no field as required.
    if (!message.SerializePartialToCodedStream(&coded)) {
      return absl::InternalError(absl::StrCat(what, ": protobuf could not serialize it"));
    }
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return bytes;
}

}  // namespace plait
