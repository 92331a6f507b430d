#include "gpu_worker/backends/cpu/team/core_sharing.h"

#include <cstdio>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

namespace plait {
namespace {

constexpr auto kMoveEvery = std::chrono::milliseconds(1);
constexpr auto kLookEvery = std::chrono::milliseconds(2);
constexpr int kPartOfTime = 5;
// Nearly a turn of a program; what the system itself does takes less.
constexpr auto kWaitedMin = std::chrono::microseconds(1500);

}  // namespace

CoreSharing::~CoreSharing() {
  if (file_ >= 0) close(file_);
}

bool CoreSharing::IsInterrupted() {
  const Clock::time_point now = Clock::now();
  if (now - looked_ < kLookEvery) return false;
  const std::chrono::nanoseconds waited = Waited();
  const bool is_interrupted =
      waited - waited_ > kWaitedMin && (waited - waited_) * kPartOfTime > now - looked_;
  looked_ = now;
  waited_ = waited;
  return is_interrupted;
}

void CoreSharing::LeaveCore(int core) {
  const Clock::time_point now = Clock::now();
  if (now - moved_ < kMoveEvery) return;
  moved_ = now;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (pthread_getaffinity_np(pthread_self(), sizeof(allowed), &allowed) != 0) return;
  cpu_set_t others = allowed;
  CPU_CLR(core, &others);
  if (CPU_COUNT(&others) == 0) return;
  pthread_setaffinity_np(pthread_self(), sizeof(others), &others);
  pthread_setaffinity_np(pthread_self(), sizeof(allowed), &allowed);
}

std::chrono::nanoseconds CoreSharing::Waited() {
  if (file_ < 0) file_ = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  char text[64] = {};
  if (file_ < 0 || pread(file_, text, sizeof(text) - 1, 0) <= 0) return waited_;
  long long run_ns = 0, waited_ns = 0;
  if (std::sscanf(text, "%lld %lld", &run_ns, &waited_ns) != 2) return waited_;
  return std::chrono::nanoseconds(waited_ns);
}

}  // namespace plait
