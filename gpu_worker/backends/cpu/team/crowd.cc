#include "gpu_worker/backends/cpu/team/crowd.h"

#include <unistd.h>

#include "gpu_worker/backends/cpu/team/waiting_time.h"

namespace plait {
namespace {

constexpr auto kCrowdLookEvery = std::chrono::milliseconds(40);
// A look that is so old tells nothing of the time since.
constexpr auto kForgetAfter = std::chrono::milliseconds(400);
constexpr int kCrowdPartOfTime = 8;
// Each attempt of members to take part costs about a look's time.
constexpr auto kCrowdedFor = std::chrono::milliseconds(300);

}  // namespace

bool Crowd::IsCrowded(bool do_members_share) {
  const bool was_crowded = until_ != Clock::time_point();
  if (!was_crowded && !do_members_share) return false;
  const Clock::time_point now = Clock::now();
  if (was_crowded && now < until_) return true;
  until_ = Clock::time_point();
  if (now - looked_ < kCrowdLookEvery) return false;
  const int file = OpenWaitingTime();
  const std::chrono::nanoseconds waited = ReadWaitingTime(file).value_or(waited_);
  if (file >= 0) close(file);
  const pid_t thread = gettid();
  const bool is_crowded = thread == thread_ && now - looked_ < kForgetAfter &&
                          (waited - waited_) * kCrowdPartOfTime > now - looked_;
  thread_ = thread;
  looked_ = now;
  waited_ = waited;
  if (is_crowded) until_ = now + kCrowdedFor;
  return is_crowded;
}

}  // namespace plait
