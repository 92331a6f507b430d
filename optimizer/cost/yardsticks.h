#pragma once

#include "base/yardstick_drift.h"

namespace plait {

// How fast a device was when something was measured on it: the rates at which it did two fixed
// pieces of work. The clock of a processor and the memory that neighbours leave to it change by the
// hour, and times of two hours can be compared only beside these.
struct Yardsticks {
  // Multiply-adds in registers, by all of the device's threads; each counts as two. 0: unknown.
  double multiply_add_flops_per_us = 0;
  // Memory that no cache holds, read front to back by all of them. 0: unknown.
  double read_bytes_per_us = 0;
  // How far the one that moved farther was from its first reading at the end of the measurement, as
  // a part of it: 0.01 is one per cent. 0 for a reading of a moment.
  double drift = 0;

  friend bool operator==(const Yardsticks&, const Yardsticks&) = default;
};

// Whether the device stayed as it was during a measurement.
inline bool IsSteady(const Yardsticks& yardsticks) {
  return yardsticks.drift <= kYardstickDriftMax;
}

// The yardsticks of what was measured between two readings: their means, and the drift from the
// first to the second. A rate that one of the readings lacks is unknown. Pure.
Yardsticks YardsticksBetween(const Yardsticks& before, const Yardsticks& after);

}  // namespace plait
