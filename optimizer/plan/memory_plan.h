#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "optimizer/schedule/partial_order.h"

namespace plait {

// Bytes that steps write and others read.
struct MemoryRequest {
  int64_t size_bytes = 0;    // 0: takes no place
  std::vector<int> writers;  // steps, at least one; several write parts
  std::vector<int> readers;  // steps, those of aliases included
};

// Where everything lies.
struct MemoryPlan {
  std::vector<int64_t> offsets_bytes;  // one per request, multiples of kBufferAlignmentBytes
  int64_t arena_bytes = 0;
};

// 64 bytes: one cache line and one AVX-512 register.
constexpr int64_t kBufferAlignmentBytes = 64;

// Gives every request a place in one arena, largest first, each into the tightest gap that fits.
// Two requests share bytes only if all steps that touch one of them precede the other's writers in
// the partial order, so that no schedule that respects the order can mix them up, whatever its
// timing. The launch order alone would not do: what is launched later may run earlier on another
// stream. Pure; not optimal, which would be NP-hard.
// REQUIRES: writers and readers are steps of `order`; sizes are not negative.
MemoryPlan PlanMemory(absl::Span<const MemoryRequest> requests, const PartialOrder& order);

}  // namespace plait
