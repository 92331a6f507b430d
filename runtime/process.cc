#include "runtime/process.h"

#include <atomic>

#include <unistd.h>

namespace plait {
namespace {

// 0: no process yet.
std::atomic<pid_t>& Owner() {
  static std::atomic<pid_t> owner = 0;
  return owner;
}

}  // namespace

absl::Status ClaimProcess() {
  pid_t expected = 0;
  const pid_t own = getpid();
  if (Owner().compare_exchange_strong(expected, own) || expected == own) return absl::OkStatus();
  return absl::AbortedError(
      "this process was forked from one that uses plait, whose threads do not exist here (create "
      "sessions after the fork, or start the process anew: in Python, multiprocessing's "
      "\"spawn\")");
}

bool IsForked() {
  const pid_t owner = Owner().load();
  return owner != 0 && owner != getpid();
}

}  // namespace plait
