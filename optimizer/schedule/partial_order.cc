#include "optimizer/schedule/partial_order.h"

#include <algorithm>
#include <functional>
#include <utility>

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
    for (int earlier = 0; earlier < step; ++earlier)
      bits[earlier / 64] |= uint64_t{1} << (earlier % 64);
    return bits;
  }
  if (last_alone_ >= 0) Include(bits, last_alone_);
  if (static_cast<size_t>(stream) < last_on_stream_.size() && last_on_stream_[stream] >= 0) {
    Include(bits, last_on_stream_[stream]);
  }
  return bits;
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
