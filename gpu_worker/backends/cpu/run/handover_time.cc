#include "gpu_worker/backends/cpu/run/handover_time.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <vector>

#include "gpu_worker/executor/stopwatch.h"

namespace plait {
namespace {

// The quickest one counts: in another one a thread may have been interrupted.
constexpr int kRings = 5;
// Of one reading, all rounds together.
constexpr int kHandovers = 200;
constexpr double kRingTimeMaxUs = 1000;
constexpr int kSpinsOfLook = 1024;
// No cores are so far from each other. Threads that take longer do not run at the same time.
constexpr double kHandoverUsMax = 2;

struct alignas(64) Slot {
  std::atomic<int64_t> number = 0;
};

// A number that goes round: each thread waits for its slot to change and writes the next one's.
class Ring {
 public:
  explicit Ring(int threads) : slots_(static_cast<size_t>(threads)) {}

  // Of thread 0: microseconds from thread to thread; 0 when the time was over before.
  double Lead() {
    const Stopwatch total;
    const int rounds = std::max(1, kHandovers / threads());
    double best_us = std::numeric_limits<double>::infinity();
    for (int reading = 0; reading < kRings; ++reading) {
      const Stopwatch stopwatch;
      for (int round = 0; round < rounds; ++round) {
        slots_[1].number.store(++sent_, std::memory_order_release);
        // To read the clock takes as long as a handover.
        for (int spins = 1; slots_[0].number.load(std::memory_order_acquire) != sent_; ++spins) {
          if (spins % kSpinsOfLook == 0 && total.elapsed_us() > kRingTimeMaxUs) return End(best_us);
        }
      }
      best_us = std::min(best_us, stopwatch.elapsed_us() / (rounds * threads()));
    }
    return End(best_us);
  }

  // Of each other thread, until thread 0 has what it wants.
  void Follow(int thread) {
    std::atomic<int64_t>& mine = slots_[static_cast<size_t>(thread)].number;
    std::atomic<int64_t>& next = slots_[static_cast<size_t>((thread + 1) % threads())].number;
    int64_t seen = 0;
    while (!has_ended_.load(std::memory_order_relaxed)) {
      const int64_t number = mine.load(std::memory_order_acquire);
      if (number == seen) continue;
      seen = number;
      next.store(number, std::memory_order_release);
    }
  }

 private:
  int threads() const { return static_cast<int>(slots_.size()); }

  double End(double us) {
    has_ended_.store(true, std::memory_order_relaxed);
    return us <= kHandoverUsMax ? us : 0;
  }

  std::vector<Slot> slots_;
  std::atomic<bool> has_ended_ = false;
  int64_t sent_ = 0;
};

}  // namespace

double HandoverUs(Team& team) {
  if (team.threads() < 2) return 0;
  const Team::Lead lead(team);
  // All of them are awake before the clock runs.
  RunGroups(team.threads(), 1, [](int) {});
  Ring ring(team.threads());
  double us = 0;
  RunGroups(team.threads(), 1, [&](int thread) {
    if (thread == 0) {
      us = ring.Lead();
    } else {
      ring.Follow(thread);
    }
  });
  return us;
}

}  // namespace plait
