#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gpu_worker/backends/cuda/driver/result.h"

namespace plait::cuda {

// A GPU's clock, and what keeps it from being higher (Nvml::Reading::clock_limits).
struct ClockReading {
  unsigned sm_mhz = 0;
  unsigned long long limits = 0;
};

// Reads it now. Null: nobody can.
using ClockReader = std::function<Result<ClockReading>()>;

// What was seen of it in front of spans of time and behind them.
struct ClockSeen {
  int spans = 0;           // that count
  int moving = 0;          // of them, those in which it moved
  unsigned least_mhz = 0;  // 0: it could not be read
  unsigned most_mhz = 0;
  unsigned long long limits = 0;  // of any reading

  void Add(const ClockSeen& more);
};

// Looks at a GPU's clock while something is timed, and drops times of a clock that moved: two times
// can be compared only where it was the same. Not thread-safe.
class ClockWatch {
 public:
  explicit ClockWatch(ClockReader read) : read_(std::move(read)) {}

  // The span of time that `span` returns, in microseconds, taken again while the clock behind it is
  // more than 3 % from the one in front of it; after kSpansMax the last one counts, for a GPU that
  // is warmed up or limited all the while has no other. Without a clock the first one does.
  // Errors: those of `span`.
  Result<double> TimeSteady(const std::function<Result<double>()>& span);

  // Of the spans that were returned since the last call.
  ClockSeen TakeSeen() { return std::exchange(seen_, {}); }

  // What was seen since the last call, in one line: the clock, and what limits it. Empty where
  // that is what was told last, to 3 %, and no span was dropped, and where nobody reads a clock.
  std::string TakeNotes();

 private:
  // Whether both could be read and differ by more than that.
  bool Notes(const Result<ClockReading>& before, const Result<ClockReading>& after);
  void Keep(const Result<ClockReading>& before, const Result<ClockReading>& after, bool moved);

  // Whether the clock or its limits are not those that were told last.
  bool IsNews() const;

  const ClockReader read_;
  ClockSeen seen_;
  // Of all spans, since notes were taken.
  int spans_ = 0;
  int dropped_ = 0;
  unsigned least_mhz_ = 0;
  unsigned most_mhz_ = 0;
  unsigned long long limits_ = 0;
  int moving_ = 0;
  unsigned told_least_mhz_ = 0;
  unsigned told_most_mhz_ = 0;
  unsigned long long told_limits_ = 0;
};

// {"power", "heat"}: of bits of nvmlClocksEventReasons, those that are told of.
std::vector<std::string> ClockLimitNames(unsigned long long limits);

}  // namespace plait::cuda
