#pragma once

#include <cstdint>

namespace plait {

// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): the same numbers on every machine for a seed.
// Used for inputs, synthetic weights and rule checks; not for secrets. Not thread-safe.
class Random {
 public:
  // Every seed is good, 0 as well.
  explicit Random(uint64_t seed) : state_(seed) {}

  // All 64 bits are uniform; the sequence repeats after 2^64 numbers.
  uint64_t Next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  // Uniform in [0, 1), a multiple of 2^-53.
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

  // Uniform in [low, high).
  double Uniform(double low, double high) { return low + (high - low) * Uniform(); }

  // Uniform in [low, high]. REQUIRES: low <= high.
  // The remainder favours small numbers by less than range / 2^64, which no use of ours can see.
  int64_t Integer(int64_t low, int64_t high) {
    const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
    return range == 0 ? static_cast<int64_t>(Next())
                      : static_cast<int64_t>(static_cast<uint64_t>(low) + Next() % range);
  }

 private:
  // The whole state: two generators with equal ones give the same numbers from there on.
  uint64_t state_;
};

}  // namespace plait
