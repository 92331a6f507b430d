#pragma once

#include <string>
#include <vector>

#include "optimizer/cost/device_clock.h"
#include "optimizer/cost/equivalence.h"
#include "optimizer/cost/layer_error.h"

namespace plait {

// What one verification measured of one candidate, which is a graph with a plan. Whoever measures
// several candidates beside each other returns one of these for each, in the candidates' order, the
// baseline first.
// A value of its own because it crosses processes: a worker makes it, the server passes it on, the
// search child judges it, and the measurement log keeps it.
struct CandidateMeasurement {
  std::string candidate;           // names graph and plan by content; empty where order tells
  std::vector<double> latency_us;  // one per round, paired by index with the baseline's
  std::vector<int> load_rounds;    // how many of them each load had, in order; their sum is all
  Equivalence equivalence;         // with the outputs of the baseline
  int fallback_nodes = 0;          // nodes that ran as reference code
  std::vector<double> load_ms;     // how long each load took; for reports only
  std::string error;  // why the candidate could not run; empty when it ran. Then: no samples
  // One for each step of the plan: its variant with what the device chose where it leaves that
  // open, so that a later load takes the same; empty where it left nothing open. None where the
  // device never chooses.
  std::vector<std::string> step_variants = {};
  // Of the steps whose errors were asked for, in the question's order. Where they were, nothing was
  // timed or compared. Finite and not negative.
  std::vector<LayerError> step_errors = {};
  // One for each step of the plan, where they were asked for and nothing else was measured: what it
  // took in its place, in microseconds. Finite and not negative.
  std::vector<double> step_us = {};
  DeviceClock clock = {};  // while the samples were taken

  friend bool operator==(const CandidateMeasurement&, const CandidateMeasurement&) = default;
};

}  // namespace plait
