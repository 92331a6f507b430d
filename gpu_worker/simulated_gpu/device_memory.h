#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gpu_worker/simulated_gpu/race_cells.h"

namespace plait::simulated_gpu {

// Memory that knows what may be done with it: ranges of bytes with addresses, which of the bytes
// have been written, and, while a kernel runs, by whom. Between two ranges lies a gap, so that what
// is beyond one range is beyond all. Not thread-safe.
//
// It is the device's global memory (one for its life), a block's shared memory (ranges are its
// variables) and a thread's local memory.
class DeviceMemory {
 public:
  // Ranges lie from `base` upwards.
  explicit DeviceMemory(uint64_t base = uint64_t{1} << 32) : next_(base) {}

  // A new range of `bytes` bytes whose address is a multiple of 256, plus `address_offset`: what an
  // operand in the middle of a larger allocation is aligned to. No byte counts as written. Returns
  // the address.
  // REQUIRES: bytes >= 0, 0 <= address_offset < 256.
  uint64_t Allocate(std::string name, int64_t bytes, int64_t address_offset = 0);
  // A range at an address of the caller's choice. REQUIRES: it is above all others.
  void AllocateAt(std::string name, uint64_t address, int64_t bytes);
  // Errors: kNotFound if no range begins there.
  absl::Status Free(uint64_t address);

  // The host's copies. Errors: kOutOfRange; Read: kFailedPrecondition for bytes nobody has written.
  absl::Status Write(uint64_t address, absl::Span<const std::byte> bytes);
  absl::Status Read(uint64_t address, absl::Span<std::byte> bytes);

  // From here on accesses are those of a new launch, of the number that it returns. Races are
  // looked for within one launch.
  uint64_t BeginLaunch(int64_t granule_bytes);
  // From here on accesses are again those of a launch that has begun and not ended.
  void ResumeLaunch(uint64_t launch, int64_t granule_bytes);
  // What the launch has accessed so far.
  Touches TouchesOf(uint64_t launch) const;
  // Forgets what the launch has accessed.
  void EndLaunch(uint64_t launch);
  // As before the first write: a new block's shared memory.
  void ForgetContents();

  // One access of a kernel: reads `bytes` bytes into `data`, or writes them from there.
  // Errors, in this order, with the address: kInvalidArgument misaligned, kOutOfRange,
  // kFailedPrecondition uninitialised, kAborted a race.
  // REQUIRES: `use` is kRead or kReadOnly; of Store kWrite or kStrongWrite.
  absl::Status Load(const Accessor& who, uint64_t address, int64_t bytes, std::byte* data,
                    Use use = Use::kRead);
  absl::Status Store(const Accessor& who, uint64_t address, int64_t bytes, const std::byte* data,
                     Use use = Use::kWrite);

  // Whether one range holds them all.
  bool Holds(uint64_t address, int64_t bytes) { return Find(address, bytes) != nullptr; }
  // The name of the range that holds the address, and where it starts; empty for none.
  absl::string_view NameAt(uint64_t address, uint64_t* start = nullptr);

 private:
  struct Range {
    std::string name;
    uint64_t address = 0;
    std::vector<std::byte> bytes;
    std::vector<uint8_t> written;          // 1 per byte that was
    std::map<uint64_t, RaceCells> cells;   // by launch
    RaceCells* cells_of_launch = nullptr;  // those of `launch`, or null
    uint64_t launch = 0;
  };

  // The range that holds them all, or null.
  Range* Find(uint64_t address, int64_t bytes);
  absl::Status OutOfRange(uint64_t address, int64_t bytes);
  absl::Status RecordAccess(Range* range, const Accessor& who, int64_t offset, int64_t bytes,
                            Use use);

  uint64_t next_;
  std::vector<std::unique_ptr<Range>> ranges_;  // by address
  Range* last_found_ = nullptr;
  uint64_t launches_ = 0;
  uint64_t launch_ = 0;  // whose accesses these are
  int64_t granule_bytes_ = 1;
};

}  // namespace plait::simulated_gpu
