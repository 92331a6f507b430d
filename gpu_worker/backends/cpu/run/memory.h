#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"

namespace plait {

// A range of zeroed memory whose pages exist once they are written, aligned to a page. Movable; the
// bytes keep their address. Not thread-safe while it hands out pieces.
class MemoryRegion {
 public:
  // One cache line, and the widest vector.
  static constexpr int64_t kAlignmentBytes = 64;

  MemoryRegion() = default;
  ~MemoryRegion();
  MemoryRegion(MemoryRegion&& other) noexcept;
  MemoryRegion& operator=(MemoryRegion&& other) noexcept;

  // Errors: ResourceExhausted when the system refuses the range.
  static absl::StatusOr<MemoryRegion> Reserve(int64_t size_bytes);

  std::byte* data() const { return data_; }
  int64_t size_bytes() const { return size_bytes_; }
  int64_t used_bytes() const { return used_bytes_; }

  // The next aligned piece.
  // Errors: ResourceExhausted when the region is used up.
  absl::StatusOr<std::byte*> Allocate(int64_t bytes);

  // Makes the whole region available again; pieces handed out so far are given up.
  void Reset() { used_bytes_ = 0; }

  // Writes back and drops the used bytes from every cache of this processor.
  void EvictFromCaches() const;

 private:
  std::byte* data_ = nullptr;
  int64_t size_bytes_ = 0;
  int64_t used_bytes_ = 0;
};

}  // namespace plait
