#include "optimizer/plan/memory_plan.h"

#include <algorithm>
#include <numeric>
#include <utility>

// Three buffers on one stream: a, 128 bytes, written by step 0 and read by 1; b, 256 bytes, by 1
// and 2; c, 64 bytes, by 2 and 3. The largest is placed first: b at 0. When b is written, a is
// still being read, so a goes behind it, to 256. When c is written, b is still being read, but a is
// done: c takes a's place at 256. The arena has 384 bytes in the place of 448. Were c written on
// another stream that does not wait for step 1, a and c could meet in time, and c would go to 384.
//
// Largest first, then the tightest gap, is the usual greedy for this NP-hard problem (dynamic
// storage allocation, Garey and Johnson SR2). O(N * N * (readers + log N)) for N buffers.

namespace plait {
namespace {

int64_t RoundUp(int64_t bytes) {
  return (bytes + kBufferAlignmentBytes - 1) / kBufferAlignmentBytes * kBufferAlignmentBytes;
}

bool EndsBefore(const MemoryRequest& first, const MemoryRequest& second,
                const PartialOrder& order) {
  return order.Precedes(first.writer, second.writer) &&
         std::all_of(first.readers.begin(), first.readers.end(),
                     [&](int reader) { return order.Precedes(reader, second.writer); });
}

// The start of the tightest gap of at least `size_bytes` between taken intervals, or their end.
// Intervals are (first byte, past the last byte).
int64_t TightestGap(std::vector<std::pair<int64_t, int64_t>> taken, int64_t size_bytes) {
  std::sort(taken.begin(), taken.end());
  int64_t best_offset = -1;
  int64_t best_gap_bytes = 0;
  int64_t end = 0;
  for (const auto& [first, past] : taken) {
    const int64_t gap_bytes = first - end;
    if (gap_bytes >= size_bytes && (best_offset < 0 || gap_bytes < best_gap_bytes)) {
      best_offset = end;
      best_gap_bytes = gap_bytes;
    }
    end = std::max(end, past);
  }
  return best_offset >= 0 ? best_offset : end;
}

}  // namespace

MemoryPlan PlanMemory(absl::Span<const MemoryRequest> requests, const PartialOrder& order) {
  MemoryPlan plan;
  plan.offsets_bytes.resize(requests.size(), 0);
  std::vector<size_t> largest_first(requests.size());
  std::iota(largest_first.begin(), largest_first.end(), size_t{0});
  std::stable_sort(largest_first.begin(), largest_first.end(), [&](size_t a, size_t b) {
    return requests[a].size_bytes > requests[b].size_bytes;
  });
  std::vector<size_t> placed;
  for (const size_t index : largest_first) {
    const MemoryRequest& request = requests[index];
    if (request.size_bytes == 0) continue;
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (const size_t other : placed) {
      if (EndsBefore(request, requests[other], order)) continue;
      if (EndsBefore(requests[other], request, order)) continue;
      const int64_t offset = plan.offsets_bytes[other];
      taken.emplace_back(offset, offset + RoundUp(requests[other].size_bytes));
    }
    const int64_t size_bytes = RoundUp(request.size_bytes);
    plan.offsets_bytes[index] = TightestGap(std::move(taken), size_bytes);
    plan.arena_bytes = std::max(plan.arena_bytes, plan.offsets_bytes[index] + size_bytes);
    placed.push_back(index);
  }
  return plan;
}

}  // namespace plait
