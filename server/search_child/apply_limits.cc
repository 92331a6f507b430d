#include "server/search_child/apply_limits.h"

#include <csignal>
#include <cstdint>
#include <new>
#include <vector>

#include <sys/mman.h>
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

// 16 MiB: a thread's stack twice, and more than libraries map at once for memory of their own.
constexpr size_t kRoomBytes = size_t{16} << 20;

// No allocation and no lock may happen on this way out.
[[noreturn]] void EndAtMemoryLimit() {
  constexpr absl::string_view kLastWords = "the memory limit is reached\n";
  // Who cannot be told is told by the code.
  [[maybe_unused]] const ssize_t written =
      write(STDERR_FILENO, kLastWords.data(), kLastWords.size());
  _exit(kMemoryLimitExit);
}

// Threads that cannot start, and libraries that map memory themselves, ask no new handler before
// they abort. Where there is no room either, this is why; else the signal ends the process.
void OnAbort(int /*signal*/) {
  const void* const room =
      mmap(nullptr, kRoomBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) EndAtMemoryLimit();
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
  std::signal(SIGABRT, OnAbort);
  return true;
}

}  // namespace plait
