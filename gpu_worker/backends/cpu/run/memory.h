#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"

namespace plait {

// A range of zeroed memory whose pages exist once they are written, aligned to a page. Movable; the
// bytes keep their address. Not thread-safe while it hands out pieces.
//
// Reserving is free and touching is not: a region may be far larger than what is used of it, as
// scratch and packed weights are, whose sizes are known only after oneDNN has chosen its formats.
class MemoryRegion {
 public:
  // One cache line, and the widest vector.
  // Two pieces never share a cache line, so that threads which write neighbouring tensors do not
  // take the line from each other; and a vector load at a piece's start never crosses a line.
  static constexpr int64_t kAlignmentBytes = 64;

  MemoryRegion() = default;
  ~MemoryRegion();
  MemoryRegion(MemoryRegion&& other) noexcept;
  MemoryRegion& operator=(MemoryRegion&& other) noexcept;

  // At least one aligned piece, whatever the size asked for. Large pages are asked for.
  // Errors: ResourceExhausted when the system refuses the range.
  static absl::StatusOr<MemoryRegion> Reserve(int64_t size_bytes);

  // A region of written bytes, to be read: pages that nobody has written are all the same page of
  // zeros.
  // Errors: as Reserve.
  static absl::StatusOr<MemoryRegion> Written(int64_t size_bytes);

  // The first bytes of another region, which must outlive it; they are what they are there.
  // REQUIRES: the other one is as large.
  static MemoryRegion PartOf(const MemoryRegion& whole, int64_t size_bytes);

  std::byte* data() const { return data_; }
  int64_t size_bytes() const { return size_bytes_; }
  // Rounded up to the alignment, piece by piece.
  int64_t used_bytes() const { return used_bytes_; }

  // The next aligned piece. Its memory stays mapped until the region goes; a piece is never given
  // back alone.
  // Errors: ResourceExhausted when the region is used up.
  absl::StatusOr<std::byte*> Allocate(int64_t bytes);

  // Makes the whole region available again; pieces handed out so far are given up.
  void Reset() { used_bytes_ = 0; }

  // Gives the system what lies behind so many bytes, up to a large page of it; it is zeroed memory
  // again, of which nothing exists until it is written.
  void GiveBackFrom(int64_t bytes);

  // Writes back and drops the used bytes from every cache of this processor.
  // Takes time in proportion to the used bytes, a line at a time. Does nothing but on x86-64.
  void EvictFromCaches() const;

 private:
  std::byte* data_ = nullptr;
  int64_t size_bytes_ = 0;
  int64_t used_bytes_ = 0;
  bool is_part_ = false;  // of another region, which has the memory
};

}  // namespace plait
