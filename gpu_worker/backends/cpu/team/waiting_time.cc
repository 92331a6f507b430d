#include "gpu_worker/backends/cpu/team/waiting_time.h"

#include <cstdio>

#include <fcntl.h>
#include <unistd.h>

namespace plait {

int OpenWaitingTime() { return open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC); }

std::optional<std::chrono::nanoseconds> ReadWaitingTime(int file) {
  char text[64] = {};
  if (file < 0 || pread(file, text, sizeof(text) - 1, 0) <= 0) return std::nullopt;
  long long run_ns = 0, waited_ns = 0;
  if (std::sscanf(text, "%lld %lld", &run_ns, &waited_ns) != 2) return std::nullopt;
  return std::chrono::nanoseconds(waited_ns);
}

}  // namespace plait
