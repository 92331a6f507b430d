#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace plait {

// A schedule's promises while it is being made: steps are added in launch order, and each is told
// which waits it still needs. "Precedes" means "has certainly finished before the other starts",
// whatever the timing, by order within a stream, waits, and steps that run alone.
//
// Of the three that look alike, this one grows with a schedule of our own and takes one bit per
// pair of steps; StepClocks (optimizer/plan) reads a finished plan, perhaps of millions of steps
// and from a stranger, and takes one number per step and stream; Reachability knows the launches'
// data only, before there is any stream. Not thread-safe.
class PartialOrder {
 public:
  // Adds the next step; `waits` are earlier steps that it waits for. A step that is `alone` waits
  // for all earlier ones, and all later ones for it.
  // REQUIRES: stream >= 0.
  void AddStep(int stream, bool alone, absl::Span<const int> waits);

  // Adds the next step and returns which of `needed` (earlier steps) it has to wait for explicitly:
  // those that neither its stream nor a barrier nor another wait implies. Ascending.
  std::vector<int> AddStepThatNeeds(int stream, bool alone, absl::Span<const int> needed);

  // True when `earlier` has finished whenever `later` starts. False for a step and itself.
  bool Precedes(int earlier, int later) const {
    return earlier < later && (before_[later][earlier / 64] >> (earlier % 64) & 1) != 0;
  }

  // The first step that need not have finished when `later` starts; `later` itself when all earlier
  // ones have. O(step / 64).
  int FirstNotBefore(int later) const;

  int step_count() const { return static_cast<int>(before_.size()); }

 private:
  using Bits = std::vector<uint64_t>;

  // What precedes the next step before any wait.
  Bits ImpliedBefore(int stream, bool alone) const;
  // Adds `step` and all that precedes it.
  void Include(Bits& bits, int step) const;
  void Push(int stream, bool alone, Bits before);

  std::vector<Bits> before_;  // per step: the steps that precede it; as long as the step needs
  std::vector<int> last_on_stream_;
  int last_alone_ = -1;
};

}  // namespace plait
