#include "gpu_worker/backends/cpu/run/private_caches.h"

#include <atomic>
#include <utility>

#include "gpu_worker/backends/cpu/run/parallel.h"

namespace plait {
namespace {

// Takes results, which the compiler would otherwise not compute.
std::atomic<int> sink;

// A byte of each cache line.
int SumOfLines(const std::byte* begin, const std::byte* end) {
  int sum = 0;
  for (; begin < end; begin += MemoryRegion::kAlignmentBytes) sum += std::to_integer<int>(*begin);
  return sum;
}

}  // namespace

void PrivateCaches::Evict() {
  if (!TakeMemory()) return;
  ForEachPart(threads_, memory_.used_bytes(), [this](int64_t begin, int64_t end, int) {
    sink = SumOfLines(memory_.data() + begin, memory_.data() + end);
  });
}

bool PrivateCaches::TakeMemory() {
  if (memory_.used_bytes() > 0) return true;
  const int64_t bytes = threads_ * bytes_of_core_;
  if (bytes <= 0) return false;
  absl::StatusOr<MemoryRegion> memory = MemoryRegion::Written(bytes);
  if (memory.ok()) memory_ = *std::move(memory);
  return memory.ok();
}

}  // namespace plait
