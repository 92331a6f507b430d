#include "gpu_worker/simulated_gpu/race_cells.h"

#include "absl/strings/str_cat.h"

namespace plait::simulated_gpu {
namespace {

constexpr int32_t kNobody = -1;
constexpr int32_t kSeveralBlocks = -2;
constexpr int16_t kSeveral = -2;

}  // namespace

RaceCells::Cell& RaceCells::CellAt(int64_t place) {
  std::unique_ptr<Cell[]>& page = pages_[place / kPageCells];
  if (page == nullptr) page = std::make_unique<Cell[]>(kPageCells);
  return page[place % kPageCells];
}

bool RaceCells::Ordered(const Mark& before, const Accessor& now) {
  if (before.block == kNobody) return true;
  if (before.block != now.block) return false;  // several blocks, too
  if (before.thread == now.thread) return true;
  if (before.interval != now.interval) return true;
  return before.warp == now.warp && before.warp_interval != now.warp_interval;
}

// Readers that are ordered before this one by a barrier need not be kept: what is ordered after
// this one is ordered after them.
void RaceCells::AddReader(const Accessor& who, Mark* readers) {
  const bool first = readers->block == kNobody;
  if (readers->block == kSeveralBlocks || (!first && readers->block != who.block)) {
    readers->block = kSeveralBlocks;
    return;
  }
  if (first || readers->interval != who.interval) {
    *readers = {who.block, who.interval, who.thread, who.warp, who.warp_interval};
    return;
  }
  if (readers->warp != who.warp) {
    readers->warp = readers->thread = kSeveral;
    return;
  }
  if (readers->warp_interval != who.warp_interval) {
    // Ordered before this reader for its own warp, but not for the other warps, which then find
    // this reader in their way just as well.
    readers->thread = who.thread;
    readers->warp_interval = who.warp_interval;
    return;
  }
  if (readers->thread != who.thread) readers->thread = kSeveral;
}

std::string RaceCells::Describe(const char* what, const Mark& mark) {
  if (mark.block == kSeveralBlocks) return absl::StrCat(what, " by several blocks");
  if (mark.thread == kSeveral) {
    return absl::StrCat(what, " by several threads of block ", mark.block);
  }
  return absl::StrCat(what, " by thread ", mark.thread, " of block ", mark.block);
}

std::string RaceCells::Record(const Accessor& who, int64_t offset, int64_t bytes, Use use) {
  const int64_t end = (offset + bytes + granule_bytes_ - 1) / granule_bytes_;
  for (int64_t at = offset / granule_bytes_; at < end; ++at) {
    Cell& cell = CellAt(at);
    const bool is_strong = use == Use::kStrongWrite;
    const bool is_alone = Ordered(cell.write, who);
    if (!is_alone && !(is_strong && cell.write.is_strong)) return Describe("written", cell.write);
    if (use == Use::kReadOnly) {
      if (cell.write.block != kNobody)
        return Describe("read as read-only, and written", cell.write);
      cell.read_only = true;
    }
    if (use == Use::kRead || use == Use::kReadOnly) {
      AddReader(who, &cell.read);
      continue;
    }
    if (cell.read_only) return Describe("written, and read as read-only", cell.read);
    if (!Ordered(cell.read, who)) return Describe("read", cell.read);
    cell.write = {who.block, who.interval, who.thread, who.warp, who.warp_interval, is_strong};
    // Nothing is ordered behind all of several writers, but the next launch.
    if (!is_alone) cell.write.block = kSeveralBlocks;
    cell.read = {};
  }
  return {};
}

void RaceCells::AddTo(uint64_t address, Touches* touches) const {
  const auto size = static_cast<uint64_t>(granule_bytes_);
  for (size_t page = 0; page < pages_.size(); ++page) {
    if (pages_[page] == nullptr) continue;
    for (size_t i = 0; i < kPageCells; ++i) {
      const Cell& cell = pages_[page][i];
      const uint64_t begin = address + (page * kPageCells + i) * size;
      if (cell.write.block != kNobody) touches->Write({begin, begin + size});
      if (cell.read.block != kNobody) touches->Read({begin, begin + size});
    }
  }
}

}  // namespace plait::simulated_gpu
