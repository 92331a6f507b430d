#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

namespace plait {

// For tests: on which side of each piece of a region a page lies that nobody may touch, so that a
// kernel which reads or writes beyond its memory there ends the process.
enum class PieceGuard { kNone, kBehind, kInFront };

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

  // At least one aligned piece, whatever the size asked for. Large pages are asked for behind the
  // first `small_bytes`: a region of which little may be used takes no more than that then. There
  // are none where pieces are guarded: each takes pages of its own then, for which there is further
  // address space. Errors: ResourceExhausted when the system refuses the range.
  static absl::StatusOr<MemoryRegion> Reserve(int64_t size_bytes,
                                              PieceGuard guard = PieceGuard::kNone,
                                              int64_t small_bytes = 0);

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

  // Makes the whole region available again; pieces handed out so far are given up. Where pieces are
  // guarded, those that follow lie behind them all the same: kernels that share memory would meet
  // each other's guards.
  void Reset() {
    if (guard_ == PieceGuard::kNone) used_bytes_ = 0;
  }

  // Sets every byte of the pieces handed out since the last Reset, and of guarded ones since ever.
  void Fill(std::byte value) const;

  // Takes memory for the first so many bytes now, so that who writes them first need not wait for
  // it. Where the system cannot, nothing happens, and writing takes it.
  void Populate(int64_t bytes) const;

  // Gives the system what lies behind so many bytes, up to a large page of it; it is zeroed memory
  // again, of which nothing exists until it is written.
  void GiveBackFrom(int64_t bytes);

  // Writes back and drops the used bytes from every cache of this processor.
  // Takes time in proportion to the used bytes, a line at a time. Does nothing but on x86-64.
  // REQUIRES: pieces are not guarded.
  void EvictFromCaches() const;

 private:
  struct Piece {
    std::byte* data;
    int64_t bytes;
  };

  absl::StatusOr<std::byte*> AllocateGuarded(int64_t bytes);
  // Where the first large page begins that is behind so many bytes, in bytes from the first one.
  int64_t LargePageFrom(int64_t bytes) const;

  std::byte* data_ = nullptr;
  int64_t size_bytes_ = 0;
  int64_t used_bytes_ = 0;
  bool is_part_ = false;  // of another region, which has the memory
  PieceGuard guard_ = PieceGuard::kNone;
  std::vector<Piece> guarded_;
};

}  // namespace plait
