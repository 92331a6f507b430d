#pragma once

#include <string>
#include <vector>

namespace plait {

// A device's clock while something was timed, where it can be read: as GPUs say it. Two times can
// be compared only where it was the same.
struct DeviceClock {
  int mhz_min = 0;  // 0: nobody has read it, and no other field counts
  int mhz_max = 0;
  int spans = 0;         // of time, that count
  int spans_moving = 0;  // of them, those in which it moved each time that they were taken
  // What kept it from being higher, in words: "power", "heat". Each once, sorted.
  std::vector<std::string> limits = {};

  friend bool operator==(const DeviceClock&, const DeviceClock&) = default;
};

// Whether a clock that was read can be so: one comes from a worker, and from a log. Limits are at
// most 16 of at most 64 bytes, without control characters and semicolons.
bool IsClock(const DeviceClock& clock);

// Adds what was seen while more was timed. REQUIRES: each is a clock or was not read.
void AddClock(const DeviceClock& more, DeviceClock& clock);

}  // namespace plait
