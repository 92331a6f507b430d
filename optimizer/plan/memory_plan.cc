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

// Whether `second`, which lives as told, is written when `first` has been read for good.
bool EndsBefore(const MemoryRequest& first, const Lifetime& first_lives,
                const MemoryRequest& second, const Lifetime& second_lives,
                const PartialOrder& order) {
  // Of most pairs this says that they meet.
  if (!order.Precedes(first_lives.last, second_lives.first)) return false;
  const auto precedes_all = [&](int step) {
    return std::all_of(second.writers.begin(), second.writers.end(),
                       [&](int writer) { return order.Precedes(step, writer); });
  };
  return std::all_of(first.writers.begin(), first.writers.end(), precedes_all) &&
         std::all_of(first.readers.begin(), first.readers.end(), precedes_all);
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
  Lifetime Of(const MemoryRequest& request, const Lifetime& lifetime) const {
    int first = lifetime.first;
    for (const int writer : request.writers) first = std::min(first, first_not_before_[writer]);
    const auto past = std::upper_bound(settled_.begin(), settled_.end(), lifetime.last);
    return {first, std::max(lifetime.last, static_cast<int>(past - settled_.begin()) - 1)};
  }

 private:
  std::vector<int> first_not_before_;
  std::vector<int> settled_;
};

// Requests that have a place, in the order of their offsets.
class PlacedRequests {
 public:
  PlacedRequests(absl::Span<const MemoryRequest> requests, const std::vector<int64_t>& offsets)
      : requests_(requests), offsets_(offsets), is_wanted_(requests.size()) {}

  // The start of the tightest gap of at least `size_bytes` between those that are `taken`, or their
  // end. Of many it is quicker to pick them out of all than to sort them.
  int64_t TightestGap(std::vector<size_t> taken, int64_t size_bytes) {
    constexpr size_t kComparisonsToSort = 16;  // of each, with thousands
    if (taken.size() * kComparisonsToSort < in_order_.size()) {
      std::sort(taken.begin(), taken.end(), [&](size_t a, size_t b) { return IsBefore(a, b); });
    } else {
      for (const size_t request : taken) is_wanted_[request] = true;
      taken.clear();
      for (const size_t request : in_order_) {
        if (is_wanted_[request]) taken.push_back(request);
        is_wanted_[request] = false;
      }
    }
    return GapBetween(taken, size_bytes);
  }

  void Add(size_t request) {
    const auto place = std::upper_bound(in_order_.begin(), in_order_.end(), request,
                                        [&](size_t a, size_t b) { return IsBefore(a, b); });
    in_order_.insert(place, request);
  }

 private:
  bool IsBefore(size_t a, size_t b) const { return offsets_[a] < offsets_[b]; }

  int64_t GapBetween(const std::vector<size_t>& taken, int64_t size_bytes) const {
    int64_t best_offset = -1;
    int64_t best_gap_bytes = 0;
    int64_t end = 0;
    for (const size_t request : taken) {
      const int64_t gap_bytes = offsets_[request] - end;
      if (gap_bytes >= size_bytes && (best_offset < 0 || gap_bytes < best_gap_bytes)) {
        best_offset = end;
        best_gap_bytes = gap_bytes;
      }
      end = std::max(end, offsets_[request] + RoundUp(requests_[request].size_bytes));
    }
    return best_offset >= 0 ? best_offset : end;
  }

  absl::Span<const MemoryRequest> requests_;
  const std::vector<int64_t>& offsets_;
  std::vector<size_t> in_order_;
  std::vector<bool> is_wanted_;  // per request, false between two calls
};

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
  std::vector<Lifetime> lifetimes(requests.size());
  LifetimeIndex in_time(order.step_count());
  PlacedRequests placed(requests, plan.offsets_bytes);
  for (const size_t index : largest_first) {
    const MemoryRequest& request = requests[index];
    if (request.size_bytes == 0) continue;
    const Lifetime lives = lifetimes[index] = LifetimeOf(request);
    std::vector<size_t> taken;
    in_time.ForEachOverlapping(neighbourhoods.Of(request, lives), [&](size_t other) {
      const Lifetime& other_lives = lifetimes[other];
      if (EndsBefore(request, lives, requests[other], other_lives, order)) return;
      if (EndsBefore(requests[other], other_lives, request, lives, order)) return;
      taken.push_back(other);
    });
    const int64_t size_bytes = RoundUp(request.size_bytes);
    plan.offsets_bytes[index] = placed.TightestGap(std::move(taken), size_bytes);
    plan.arena_bytes = std::max(plan.arena_bytes, plan.offsets_bytes[index] + size_bytes);
    in_time.Add(lives, index);
    placed.Add(index);
  }
  return plan;
}

}  // namespace plait
