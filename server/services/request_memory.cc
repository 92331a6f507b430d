#include "server/services/request_memory.h"

#include <grpcpp/support/proto_buffer_reader.h>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/wire/error.h"
#include "proto/wire/parsed_bytes.h"

namespace plait {
namespace {

absl::Status NoSuchMessage(absl::string_view why) {
  return wire::Error(v1::ERROR_REASON_INVALID_REQUEST,
                     absl::StrCat("the request cannot be read: ", why));
}

absl::StatusOr<int64_t> Weigh(grpc::ByteBuffer bytes, const google::protobuf::Message& type,
                              int64_t bytes_max) {
  grpc::ProtoBufferReader reader(&bytes);
  if (!reader.status().ok()) return NoSuchMessage("it has no bytes");
  absl::StatusOr<int64_t> weight =
      wire::ParsedBytes(*type.GetDescriptor(), reader, static_cast<int>(bytes.Length()), bytes_max);
  if (absl::IsInvalidArgument(weight.status())) return NoSuchMessage(weight.status().message());
  return weight;
}

absl::Status Read(grpc::ByteBuffer bytes, google::protobuf::Message& request) {
  grpc::ProtoBufferReader reader(&bytes);
  if (request.ParseFromZeroCopyStream(&reader)) return absl::OkStatus();
  // What a walk over the bytes does not see, such as text that is no UTF-8.
  return NoSuchMessage("a field has a value that it may not have");
}

}  // namespace

RequestMemory::Share::~Share() {
  if (memory_ != nullptr) memory_->Free(bytes_);
}

absl::StatusOr<RequestMemory::Share> RequestMemory::Parse(const grpc::ByteBuffer& bytes,
                                                          google::protobuf::Message& request) {
  PLAIT_ASSIGN_OR_RETURN(const int64_t weight, Weigh(bytes, request, request_bytes_max_));
  const int64_t counted = weight <= kSmallBytes ? 0 : weight;
  Take(counted);
  Share share(*this, counted);
  PLAIT_RETURN_IF_ERROR(Read(bytes, request));
  return share;
}

absl::Status RequestMemory::ParseSmall(const grpc::ByteBuffer& bytes,
                                       google::protobuf::Message& request) {
  PLAIT_RETURN_IF_ERROR(Weigh(bytes, request, kSmallBytes).status());
  return Read(bytes, request);
}

void RequestMemory::Take(int64_t bytes) {
  absl::MutexLock lock(&mutex_);
  const auto has_room = [&]()
                            ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return free_bytes_ >= bytes; };
  mutex_.Await(absl::Condition(&has_room));
  free_bytes_ -= bytes;
}

void RequestMemory::Free(int64_t bytes) {
  absl::MutexLock lock(&mutex_);
  free_bytes_ += bytes;
}

}  // namespace plait
