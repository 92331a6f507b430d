#pragma once

#include <cstdint>
#include <utility>

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace plait {

// The memory of the requests that one gRPC server is answering. A request is weighed before it is
// parsed, because its bytes do not tell what it takes: empty messages take fifty times their bytes.
// Thread-safe.
class RequestMemory {
 public:
  // A request's part of the memory; free again when this object dies. Movable.
  class Share {
   public:
    Share(RequestMemory& memory, int64_t bytes) : memory_(&memory), bytes_(bytes) {}
    ~Share();
    Share(Share&& other) noexcept
        : memory_(std::exchange(other.memory_, nullptr)), bytes_(other.bytes_) {}
    Share& operator=(Share&&) = delete;

   private:
    RequestMemory* memory_;
    int64_t bytes_;
  };

  // 64 KiB: requests up to this size are not counted, so that they never wait. There are no more
  // of them than threads.
  static constexpr int64_t kSmallBytes = int64_t{64} << 10;

  // Of one request, and of all that are not small. REQUIRES: the first is not larger.
  RequestMemory(int64_t request_bytes_max, int64_t bytes_max)
      : request_bytes_max_(request_bytes_max), free_bytes_(bytes_max) {}

  // Parses a request that is forgotten when it is answered; what is not small waits until others
  // have left room for it. The memory must outlive the share.
  // Errors: ResourceExhausted (LIMIT_EXCEEDED) for a request that takes too much; InvalidArgument
  // for bytes that are no such message. The request is then as it was.
  absl::StatusOr<Share> Parse(const grpc::ByteBuffer& bytes, google::protobuf::Message& request);

  // The same for a request that is kept for as long as its caller likes: it must be small.
  absl::Status ParseSmall(const grpc::ByteBuffer& bytes, google::protobuf::Message& request);

 private:
  void Take(int64_t bytes);
  void Free(int64_t bytes);

  const int64_t request_bytes_max_;
  absl::Mutex mutex_;
  int64_t free_bytes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plait
