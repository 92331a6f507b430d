#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plait {

// Bytes of a number that is known before they are: a file that is read whole. They take memory when
// they are written first, by whichever thread that is, in large pages where the system has them;
// a std::string is filled with zeros first, by one thread. Moves, and does not copy.
class LargeBuffer {
 public:
  // Errors: ResourceExhausted when the system refuses the range. REQUIRES: size_bytes >= 0.
  static absl::StatusOr<LargeBuffer> Allocate(int64_t size_bytes);

  LargeBuffer() = default;
  ~LargeBuffer();
  LargeBuffer(LargeBuffer&& other) noexcept { *this = static_cast<LargeBuffer&&>(other); }
  LargeBuffer& operator=(LargeBuffer&& other) noexcept;

  // Zero where nothing was written. Valid as long as this lives, moved or not; disjoint parts may
  // be written by different threads.
  char* data() { return data_; }
  size_t size() const { return size_bytes_; }
  absl::string_view bytes() const { return absl::string_view(data_, size_bytes_); }

 private:
  char* data_ = nullptr;
  size_t size_bytes_ = 0;
};

}  // namespace plait
