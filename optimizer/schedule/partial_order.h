#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace plait {

// Which steps of a schedule have certainly finished before which others start, built up in launch
// order: order within a stream, waits between streams, and steps that run alone. Takes one bit per
// pair of steps. Not thread-safe.
class PartialOrder {
 public:
  // Adds the next step; `waits` are earlier steps that it waits for.
  void AddStep(int stream, bool alone, absl::Span<const int> waits);

  // Adds the next step and returns which of `needed` (earlier steps) it has to wait for explicitly:
  // those that neither its stream nor a barrier nor another wait implies. Ascending.
  std::vector<int> AddStepThatNeeds(int stream, bool alone, absl::Span<const int> needed);

  // True when `earlier` has finished whenever `later` starts. False for a step and itself.
  bool Precedes(int earlier, int later) const {
    return earlier < later && (before_[later][earlier / 64] >> (earlier % 64) & 1) != 0;
  }

  int step_count() const { return static_cast<int>(before_.size()); }

 private:
  using Bits = std::vector<uint64_t>;

  Bits ImpliedBefore(int stream, bool alone) const;
  void Include(Bits& bits, int step) const;
  void Push(int stream, bool alone, Bits before);

  std::vector<Bits> before_;  // per step: the steps that precede it; as long as the step needs
  std::vector<int> last_on_stream_;
  int last_alone_ = -1;
};

}  // namespace plait
