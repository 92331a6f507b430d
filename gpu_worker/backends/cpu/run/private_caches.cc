#include "gpu_worker/backends/cpu/run/private_caches.h"

#include <atomic>
#include <utility>

namespace plait {
namespace {

// Takes results, which the compiler would otherwise not compute.
std::atomic<int> lines_read;

// A byte of each cache line.
int SumOfLines(const std::byte* begin, const std::byte* end) {
  int sum = 0;
  for (; begin < end; begin += MemoryRegion::kAlignmentBytes) sum += std::to_integer<int>(*begin);
  return sum;
}

}  // namespace

void PrivateCaches::Evict() {
  if (!TakeMemory()) return;
  const Team::Lead lead(*team_);
  // Each core fills its own caches, whoever is ready first.
  const int64_t bytes = memory_.used_bytes() / team_->threads();
  RunGroups(team_->threads(), 1, [&](int thread) {
    const std::byte* const begin = memory_.data() + thread * bytes;
    lines_read = SumOfLines(begin, begin + bytes);
  });
}

bool PrivateCaches::TakeMemory() {
  if (memory_.used_bytes() > 0) return true;
  const int64_t bytes = team_->threads() * bytes_of_core_;
  if (bytes <= 0) return false;
  absl::StatusOr<MemoryRegion> memory = MemoryRegion::Written(bytes);
  if (!memory.ok()) return false;
  memory_ = *std::move(memory);
  return true;
}

}  // namespace plait
