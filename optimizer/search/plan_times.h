#pragma once

#include <string>

namespace plait {

// A plan that ran beside the baseline, as the simulator has it and as the device does: how good the
// predictions of a search were.
struct PlanTimes {
  int candidate = 0;        // its place among the candidates
  double predicted_us = 0;  // of one run
  double predicted_speedup = 0;
  double latency_us = 0;  // the median of the rounds of its last batch
  double speedup = 0;     // over the baseline in the same rounds
  bool won = false;       // it is the result
  friend bool operator==(const PlanTimes&, const PlanTimes&) = default;
};

// "measured: candidate 2, predicted 12.5 us, took 13.1 us, speedup 1.2\n": a line of a trace.
std::string PlanTimesLine(const PlanTimes& times);

}  // namespace plait
