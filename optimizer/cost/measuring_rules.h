#pragma once

namespace plait {

// How plans are measured beside each other: what a worker does, and what a search expects it to
// take.

// Of two loads that differ, hardly anything follows about a third.
inline constexpr int kLoadsLeast = 3;

// The runs of one candidate in one round.
struct RoundRuns {
  int untimed = 0;  // bring back what the other candidates have driven out of the caches
  int timed = 1;    // whose median is the round's sample

  friend bool operator==(const RoundRuns&, const RoundRuns&) = default;
};

// For plans that run for about so many microseconds. Pure.
RoundRuns RunsOfRound(double run_us);

}  // namespace plait
