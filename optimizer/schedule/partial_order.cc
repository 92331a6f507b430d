#include "optimizer/schedule/partial_order.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

// Five steps; each names what it needs, and gets back what it still has to wait for:
//
//   0 on stream 0                     waits for nothing
//   1 on stream 1 needs 0             waits for 0
//   2 on stream 1 needs 0             waits for nothing: it follows 1, and 1 came after 0
//   3 on stream 2 needs 0 and 2       waits for 2, which came after 0
//   4 on stream 0, alone, needs 1, 3  waits for nothing: it comes after all
//
// The latest of `needed` is tried first, because only a later step can imply an earlier one. A
// step's row of bits is as long as its own number, N*N/16 bytes in all; adding a step costs O(N/64)
// per step that it needs.

namespace plait {

void PartialOrder::Include(Bits& bits, int step) const {
  const Bits& before = before_[step];
  for (size_t word = 0; word < before.size(); ++word) bits[word] |= before[word];
  bits[step / 64] |= uint64_t{1} << (step % 64);
}

PartialOrder::Bits PartialOrder::ImpliedBefore(int stream, bool alone) const {
  const int step = step_count();
  Bits bits(step / 64 + 1, 0);
  if (alone) {
    std::fill(bits.begin(), bits.end() - 1, ~uint64_t{0});
    bits.back() = (uint64_t{1} << (step % 64)) - 1;
    return bits;
  }
  if (last_alone_ >= 0) Include(bits, last_alone_);
  if (static_cast<size_t>(stream) < last_on_stream_.size() && last_on_stream_[stream] >= 0) {
    Include(bits, last_on_stream_[stream]);
  }
  return bits;
}

int PartialOrder::FirstNotBefore(int later) const {
  const Bits& before = before_[later];
  size_t word = 0;
  while (word < before.size() && before[word] == ~uint64_t{0}) ++word;
  const int bit = word < before.size() ? std::countr_one(before[word]) : 0;
  return std::min(later, static_cast<int>(word) * 64 + bit);
}

void PartialOrder::Push(int stream, bool alone, Bits before) {
  if (last_on_stream_.size() <= static_cast<size_t>(stream)) last_on_stream_.resize(stream + 1, -1);
  last_on_stream_[stream] = step_count();
  if (alone) last_alone_ = step_count();
  before_.push_back(std::move(before));
}

void PartialOrder::AddStep(int stream, bool alone, absl::Span<const int> waits) {
  Bits before = ImpliedBefore(stream, alone);
  for (const int wait : waits) Include(before, wait);
  Push(stream, alone, std::move(before));
}

std::vector<int> PartialOrder::AddStepThatNeeds(int stream, bool alone,
                                                absl::Span<const int> needed) {
  Bits before = ImpliedBefore(stream, alone);
  std::vector<int> latest_first(needed.begin(), needed.end());
  std::sort(latest_first.begin(), latest_first.end(), std::greater<int>());
  std::vector<int> waits;
  // A later step can imply an earlier one, never the other way round.
  for (const int step : latest_first) {
    if ((before[step / 64] >> (step % 64) & 1) != 0) continue;
    waits.push_back(step);
    Include(before, step);
  }
  std::reverse(waits.begin(), waits.end());
  Push(stream, alone, std::move(before));
  return waits;
}

}  // namespace plait
