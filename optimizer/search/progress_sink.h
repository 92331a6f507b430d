#pragma once

#include "absl/strings/string_view.h"

namespace plait {

// Where in a search, of 0..1, verification begins.
constexpr double kVerificationFraction = 0.7;

// Where a search tells how far it is. Called from the search's own thread. No method may block: the
// search waits.
class ProgressSink {
 public:
  virtual ~ProgressSink() = default;

  // `fraction` of the whole search that is behind the phase's start, rising from 0 to 1. Phases are
  // "baseline", "canonicalize", "search" (graphs are rewritten), "schedule" (they are planned; once
  // before any is searched for, and behind each search), "verify" and "done".
  virtual void OnPhase(absl::string_view phase, double fraction) = 0;

  // A phase goes on; `seconds_left` is how long the rest of the search is predicted to take.
  virtual void OnFraction(double /*fraction*/, double /*seconds_left*/) {}

  // The simulator takes a plan for faster than all before, by this much over the baseline.
  virtual void OnPredicted(double /*speedup*/) {}

  // The best measured speed-up so far has changed: the median over the rounds that there are.
  virtual void OnMeasured(double /*speedup*/) {}
};

}  // namespace plait
