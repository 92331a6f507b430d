#pragma once

#include <stop_token>

#include "absl/time/time.h"
#include "gpu_worker/executor/executor.h"

namespace plait {

// So many readings must agree with the best one, and more than the latter are not taken.
inline constexpr int kAgreeingReadings = 4;
inline constexpr int kSettledReadingsMax = 12;
inline constexpr absl::Duration kRestOfReadings = absl::Milliseconds(100);

// How fast the device is when it is all ours: the medians of those of several readings whose
// multiply-adds are within kYardstickDriftMax of the best. A host that puts two processors of a
// virtual machine on one core halves them, most often for less than half a second; all times of a
// search are scaled to what this says, and a reading of such a moment alone would make each kernel
// that computes take twice as long as it does, and none that reads.
// Takes a third of a second where all readings agree, and a little more than a second at most. A
// device without yardsticks is read once. Waits for near threads at first (AwaitNearThreads); a
// stop ends it with what was read so far.
Yardsticks ReadSettledYardsticks(Executor& executor, const std::stop_token& stop = {},
                                 absl::Duration rest = kRestOfReadings);

}  // namespace plait
