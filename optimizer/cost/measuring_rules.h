#pragma once

namespace plait {

// How plans are measured beside each other: what a worker does, and what a search expects it to
// take.

// Of few loads that differ, hardly anything follows about others: half the width of an interval is
// 2.5 of their deviations with three, and 1.2 with five.
inline constexpr int kLoadsLeast = 5;

// The runs of one candidate in one round.
struct RoundRuns {
  int untimed = 0;  // bring back what the other candidates have driven out of the caches
  int timed = 1;    // whose median is the round's sample

  friend bool operator==(const RoundRuns&, const RoundRuns&) = default;
};

// For plans that run for about so many microseconds. Pure.
RoundRuns RunsOfRound(double run_us);

}  // namespace plait
