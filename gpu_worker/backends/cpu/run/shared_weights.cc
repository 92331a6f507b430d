#include "gpu_worker/backends/cpu/run/shared_weights.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"

namespace plait {
namespace {

// Who finds nearly all of its weights packed has a few small ones left, which are worth no large
// page: one alone takes milliseconds where the system has to make room for it.
constexpr int64_t kSmallBytes = int64_t{1} << 20;

}  // namespace

SharedWeights::Piece SharedWeights::Find(const Fingerprint& key) const {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return {};
  std::shared_ptr<MemoryRegion> region = found->second.region.lock();
  if (region == nullptr) return {};
  return {std::move(region), found->second.data};
}

void SharedWeights::Add(const Fingerprint& key, const std::shared_ptr<MemoryRegion>& region,
                        std::byte* data) {
  if (entries_.size() >= entries_max_) ForgetWhatIsGone();
  entries_.insert_or_assign(key, Entry{region, data});
}

// Twice as many as are left may come before the next time, so that each costs its share only.
void SharedWeights::ForgetWhatIsGone() {
  absl::erase_if(entries_, [](const auto& entry) { return entry.second.region.expired(); });
  entries_max_ = std::max(entries_max_, 2 * entries_.size());
}

absl::StatusOr<SharingExecutable> SharingExecutable::Create(SharedWeights* shared,
                                                            int64_t bytes_max) {
  SharingExecutable sharing;
  sharing.shared_ = shared;
  PLAIT_ASSIGN_OR_RETURN(MemoryRegion own,
                         MemoryRegion::Reserve(bytes_max, PieceGuard::kNone, kSmallBytes));
  sharing.own_ = std::make_shared<MemoryRegion>(std::move(own));
  return sharing;
}

absl::StatusOr<SharingExecutable::Place> SharingExecutable::Allocate(const Fingerprint& key,
                                                                     int64_t bytes) {
  SharedWeights::Piece known = shared_->Find(key);
  if (known.region != nullptr) {
    const bool is_new = known.region != own_ &&
                        std::find(taken_.begin(), taken_.end(), known.region) == taken_.end();
    if (is_new) taken_.push_back(std::move(known.region));
    return Place{known.data, true};
  }
  PLAIT_ASSIGN_OR_RETURN(std::byte* const data, own_->Allocate(bytes));
  pending_.push_back({key, data});
  return Place{data, false};
}

void SharingExecutable::Publish() {
  for (const Pending& piece : pending_) shared_->Add(piece.key, own_, piece.data);
  pending_.clear();
}

}  // namespace plait
