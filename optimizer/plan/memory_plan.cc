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
// storage allocation, Garey and Johnson SR2).
//
// Only buffers whose steps lie near each other can meet in time: most others end before the first
// step that need not have finished when this one is written, or are written behind the last one
// that this one's steps need not precede. What is left is asked step by step. O(S log S + N (log S
// + M readers)) for N buffers over S steps, each of which may meet M others.

namespace plait {
namespace {

int64_t RoundUp(int64_t bytes) {
  return (bytes + kBufferAlignmentBytes - 1) / kBufferAlignmentBytes * kBufferAlignmentBytes;
}

bool EndsBefore(const MemoryRequest& first, const MemoryRequest& second,
                const PartialOrder& order) {
  const auto precedes_all = [&](int step) {
    return std::all_of(second.writers.begin(), second.writers.end(),
                       [&](int writer) { return order.Precedes(step, writer); });
  };
  return std::all_of(first.writers.begin(), first.writers.end(), precedes_all) &&
         std::all_of(first.readers.begin(), first.readers.end(), precedes_all);
}

// Requests in the order of launch: from the first writer to the last who touches them.
struct Lifetime {
  int first;
  int last;
};

Lifetime LifetimeOf(const MemoryRequest& request) {
  const auto [first, last] = std::minmax_element(request.writers.begin(), request.writers.end());
  Lifetime lifetime{*first, *last};
  for (const int reader : request.readers) lifetime.last = std::max(lifetime.last, reader);
  return lifetime;
}

// Lifetimes, to be asked which of them overlap a stretch of steps: a segment tree (J. L. Bentley,
// 1977), where each lies in the O(log S) nodes that it covers as a whole.
class LifetimeIndex {
 public:
  explicit LifetimeIndex(int steps)
      : steps_(steps), covering_(size_t{2} * static_cast<size_t>(steps)), starting_(steps) {}

  void Add(const Lifetime& lifetime, size_t request) {
    starting_[lifetime.first].push_back(request);
    int low = lifetime.first + steps_;
    int high = lifetime.last + 1 + steps_;
    for (; low < high; low /= 2, high /= 2) {
      if (low % 2 == 1) covering_[low++].push_back(request);
      if (high % 2 == 1) covering_[--high].push_back(request);
    }
  }

  // Calls visit(request) for each that overlaps, once.
  template <typename Visit>
  void ForEachOverlapping(const Lifetime& stretch, Visit visit) const {
    for (int node = stretch.first + steps_; node > 0; node /= 2) {
      std::for_each(covering_[node].begin(), covering_[node].end(), visit);
    }
    for (int step = stretch.first + 1; step <= stretch.last; ++step) {
      std::for_each(starting_[step].begin(), starting_[step].end(), visit);
    }
  }

 private:
  int steps_;
  std::vector<std::vector<size_t>> covering_;  // per node of the tree; leaves are steps_ and up
  std::vector<std::vector<size_t>> starting_;  // per step
};

// For each step the stretch of steps around it of which some may be running at the same time.
class Neighbourhoods {
 public:
  explicit Neighbourhoods(const PartialOrder& order) {
    for (int step = 0; step < order.step_count(); ++step) {
      first_not_before_.push_back(order.FirstNotBefore(step));
    }
    // The least of its own and all later ones: what stands before that is behind everybody.
    settled_ = first_not_before_;
    for (size_t step = settled_.size(); step-- > 1;) {
      settled_[step - 1] = std::min(settled_[step - 1], settled_[step]);
    }
  }

  // Lifetimes outside of the result end before the request's begins, or begin when it has ended.
  Lifetime Of(const MemoryRequest& request) const {
    const Lifetime lifetime = LifetimeOf(request);
    int first = lifetime.first;
    for (const int writer : request.writers) first = std::min(first, first_not_before_[writer]);
    const auto past = std::upper_bound(settled_.begin(), settled_.end(), lifetime.last);
    return {first, std::max(lifetime.last, static_cast<int>(past - settled_.begin()) - 1)};
  }

 private:
  std::vector<int> first_not_before_;
  std::vector<int> settled_;
};

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
  const Neighbourhoods neighbourhoods(order);
  LifetimeIndex placed(order.step_count());
  for (const size_t index : largest_first) {
    const MemoryRequest& request = requests[index];
    if (request.size_bytes == 0) continue;
    std::vector<std::pair<int64_t, int64_t>> taken;
    placed.ForEachOverlapping(neighbourhoods.Of(request), [&](size_t other) {
      if (EndsBefore(request, requests[other], order)) return;
      if (EndsBefore(requests[other], request, order)) return;
      const int64_t offset = plan.offsets_bytes[other];
      taken.emplace_back(offset, offset + RoundUp(requests[other].size_bytes));
    });
    const int64_t size_bytes = RoundUp(request.size_bytes);
    plan.offsets_bytes[index] = TightestGap(std::move(taken), size_bytes);
    plan.arena_bytes = std::max(plan.arena_bytes, plan.offsets_bytes[index] + size_bytes);
    placed.Add(LifetimeOf(request), index);
  }
  return plan;
}

}  // namespace plait
