#pragma once

#include <chrono>

namespace plait {

// Measures short stretches of time. The Clock interface is too coarse and too indirect for
// microseconds.
class Stopwatch {
 public:
  Stopwatch() : start_(std::chrono::steady_clock::now()) {}

  // Microseconds since the construction; the clock never steps back.
  double elapsed_us() const {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start_)
        .count();
  }

 private:
  std::chrono::steady_clock::time_point start_;
};

}  // namespace plait
