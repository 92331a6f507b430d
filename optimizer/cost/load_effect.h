#pragma once

namespace plait {

// How much the speed of one plan on a device differs from one load of it to the next: where its
// pages lie and how its weights are packed stays the same for as long as it is loaded, so that no
// number of runs within a load averages it out.
struct LoadEffect {
  // Standard deviation, over loads, of the logarithm of a ratio of two plans that are loaded side
  // by side and are equal: 0.01 is one per cent. The default, for a device that nobody has measured
  // yet, is a guess.
  double deviation = 0.01;
  int loads = 0;  // of which it was estimated; 0: none, the default

  friend bool operator==(const LoadEffect&, const LoadEffect&) = default;
};

}  // namespace plait
