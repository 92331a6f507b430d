#include "gpu_worker/backends/cpu/run/working_memory.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/status_macros.h"

namespace plait {

struct WorkingMemory::Range {
  MemoryRegion region;
  absl::Mutex mutex;
  std::multiset<int64_t> shares ABSL_GUARDED_BY(mutex);  // bytes of each

  int64_t Largest() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return shares.empty() ? 0 : *shares.rbegin();
  }
  void Add(int64_t bytes) {
    const absl::MutexLock lock(&mutex);
    shares.insert(bytes);
  }
  // Nobody runs in what is given back: it is behind all shares, and new ones wait.
  void Remove(int64_t bytes) {
    const absl::MutexLock lock(&mutex);
    shares.erase(shares.find(bytes));
    if (bytes > Largest()) region.GiveBackFrom(Largest());
  }
};

WorkingMemory::Share::~Share() {
  if (range_ != nullptr) range_->Remove(bytes_);
}

// By exchange: what the target held is given up when the source goes.
WorkingMemory::Share::Share(Share&& other) noexcept { *this = std::move(other); }

WorkingMemory::Share& WorkingMemory::Share::operator=(Share&& other) noexcept {
  std::swap(range_, other.range_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

MemoryRegion WorkingMemory::Share::Region() const {
  return MemoryRegion::PartOf(range_->region, bytes_);
}

// In this order, so that nothing is given back that stays.
void WorkingMemory::Share::Shrink(int64_t bytes) {
  bytes = std::min(bytes, bytes_);
  range_->Add(bytes);
  range_->Remove(std::exchange(bytes_, bytes));
}

absl::StatusOr<WorkingMemory::Share> WorkingMemory::Take(size_t slot, int64_t bytes, int64_t room) {
  const absl::MutexLock lock(&mutex_);
  if (slot >= slots_.size()) slots_.resize(slot + 1);
  std::shared_ptr<Range>& range = slots_[slot];
  if (range == nullptr || range->region.size_bytes() < bytes) {
    auto larger = std::make_shared<Range>();
    PLAIT_ASSIGN_OR_RETURN(larger->region, MemoryRegion::Reserve(room));
    range = std::move(larger);
  }
  Share share;
  share.range_ = range;
  share.bytes_ = bytes;
  range->Add(bytes);
  return share;
}

}  // namespace plait
