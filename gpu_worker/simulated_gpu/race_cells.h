#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu_worker/simulated_gpu/touches.h"

namespace plait::simulated_gpu {

// Who makes an access, and when. Two accesses are ordered if one thread makes both; if both are of
// one block and a barrier of the block lies between (`interval` differs); or if both are of one
// warp and a barrier of the warp lies between (`warp_interval` differs). That lanes of a warp
// happen to run in step orders nothing: since compute capability 7.0 they need not.
struct Accessor {
  int32_t block = 0;          // by its number in the grid
  int32_t interval = 0;       // barriers that the block has passed
  int16_t thread = 0;         // of the block
  int16_t warp = 0;           // of the block
  int32_t warp_interval = 0;  // barriers that the warp has passed, those of the block included
};

// What an access does. kReadOnly is a load through the path that is not coherent (ld.global.nc):
// what it reads may be written by nobody, this thread included, for as long as the kernel runs.
// kStrongWrite is a store that says that others may store there at the same time (st.volatile):
// several of them are no race, one of them and another access that is not ordered is.
enum class Use { kRead, kReadOnly, kWrite, kStrongWrite };

// The last write and the last reads of every few bytes of an allocation, by which a race is found
// whatever the order in which threads are run: two accesses that are not ordered, one of which
// writes. Of several readers the cells keep that there were several, not who: a write after them
// is a race unless a barrier of the block lies between and all are of its block, or one of the warp
// and all are of its warp.
class RaceCells {
 public:
  // `granule_bytes`: every access is a multiple of it, and aligned to it.
  RaceCells(int64_t bytes, int64_t granule_bytes)
      : granule_bytes_(granule_bytes),
        pages_((bytes + granule_bytes * kPageCells - 1) / (granule_bytes * kPageCells)) {}

  int64_t granule_bytes() const { return granule_bytes_; }

  // Records an access to `bytes` bytes from `offset` on. Returns the empty string, or what it races
  // with, in words.
  std::string Record(const Accessor& who, int64_t offset, int64_t bytes, Use use);

  // Adds what was accessed to `touches`, where offset 0 has the address `address`.
  void AddTo(uint64_t address, Touches* touches) const;

 private:
  struct Mark {
    int32_t block = -1;  // kNobody, or kSeveral: blocks
    int32_t interval = 0;
    int16_t thread = 0;  // kSeveral: threads, of the warp `warp`
    int16_t warp = 0;    // kSeveral: warps
    int32_t warp_interval = 0;
    bool is_strong = false;  // of writes
  };
  struct Cell {
    Mark write;
    Mark read;
    bool read_only = false;  // read as such
  };

  // Launches touch little of the largest allocations, weights above all.
  static constexpr int64_t kPageCells = 1024;

  Cell& CellAt(int64_t place);
  static bool Ordered(const Mark& before, const Accessor& now);
  static void AddReader(const Accessor& who, Mark* readers);
  static std::string Describe(const char* what, const Mark& mark);

  int64_t granule_bytes_;
  std::vector<std::unique_ptr<Cell[]>> pages_;  // null: nobody has accessed any of its cells
};

}  // namespace plait::simulated_gpu
