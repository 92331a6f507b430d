#include "server/search_child/apply_limits.h"

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <new>
#include <vector>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "server/search_child/protocol/descriptors.h"

namespace plait {
namespace {

// AddressSanitizer reserves terabytes of addresses, under which no limit of theirs can lie.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kLimitsAddressSpace = false;
#else
constexpr bool kLimitsAddressSpace = true;
#endif

// No allocation may happen on this way out: fputs to stderr is unbuffered.
[[noreturn]] void EndAtMemoryLimit() {
  std::fputs("the memory limit is reached\n", stderr);
  _exit(kMemoryLimitExit);
}

void SetLimit(__rlimit_resource resource, int64_t value) {
  if (value <= 0) return;
  const rlimit limit = {static_cast<rlim_t>(value), static_cast<rlim_t>(value)};
  setrlimit(resource, &limit);
}

}  // namespace

bool ApplyLimits(absl::string_view text) {
  std::vector<int64_t> numbers;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    if (!absl::SimpleAtoi(part, &numbers.emplace_back())) return false;
  }
  if (numbers.size() != 4) return false;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  // The daemon may have died before the kernel was told to tie us to it.
  if (getppid() != numbers[3]) return false;
  if (kLimitsAddressSpace) SetLimit(RLIMIT_AS, numbers[0]);
  if (numbers[1] > 0) {
    // The soft limit sends SIGXCPU, which names the reason; the hard one would be a plain SIGKILL.
    const rlimit cpu = {static_cast<rlim_t>(numbers[1]), static_cast<rlim_t>(numbers[1] + 5)};
    setrlimit(RLIMIT_CPU, &cpu);
  }
  SetLimit(RLIMIT_FSIZE, numbers[2]);
  // 64: the child has seven files and opens none but what libraries need.
  SetLimit(RLIMIT_NOFILE, 64);
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  std::set_new_handler(EndAtMemoryLimit);
  return true;
}

}  // namespace plait
