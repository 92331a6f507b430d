#include "base/clock.h"

#include <chrono>

#include "absl/time/clock.h"

namespace plait {
namespace {

class SystemClockImpl final : public Clock {
 public:
  absl::Time Now() override { return absl::Now(); }
  // Not Now, which steps when the clock is set.
  absl::Duration Monotonic() override {
    return absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
  }
};

}  // namespace

Clock& SystemClock() {
  static SystemClockImpl clock;
  return clock;
}

}  // namespace plait
