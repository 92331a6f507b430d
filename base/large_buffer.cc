#include "base/large_buffer.h"

#include <algorithm>
#include <utility>

#include <sys/mman.h>

#include "absl/strings/str_cat.h"

namespace plait {

LargeBuffer::~LargeBuffer() {
  if (data_ != nullptr) munmap(data_, std::max<size_t>(size_bytes_, 1));
}

// By exchange: what the target held is unmapped when the source goes.
LargeBuffer& LargeBuffer::operator=(LargeBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}

absl::StatusOr<LargeBuffer> LargeBuffer::Allocate(int64_t size_bytes) {
  LargeBuffer buffer;
  const auto size = static_cast<size_t>(size_bytes);
  void* const data = mmap(nullptr, std::max<size_t>(size, 1), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrCat("memory: the system refuses ", size_bytes, " bytes"));
  }
  // Refused where the system has none, which is no error.
  madvise(data, size, MADV_HUGEPAGE);
  buffer.data_ = static_cast<char*>(data);
  buffer.size_bytes_ = size;
  return buffer;
}

}  // namespace plait
