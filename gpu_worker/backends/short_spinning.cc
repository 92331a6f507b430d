#include "gpu_worker/backends/short_spinning.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace plait {
namespace {

constexpr std::chrono::nanoseconds kSpinning = std::chrono::milliseconds(1);
// 2000 pauses take 30 to 100 us, which the clock resolves well.
constexpr int kPausesTimed = 2000;
// The shortest of three: an interrupt makes a stretch longer and never shorter.
constexpr int kStretches = 3;

// What libgomp does in each turn of its waiting loop.
void SpinOnce(const std::atomic<int>& word) {
  word.load(std::memory_order_relaxed);
#if defined(__x86_64__)
  _mm_pause();
#endif
}

std::chrono::nanoseconds TimeOfPauses() {
  const std::atomic<int> word = 0;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kPausesTimed; ++i) SpinOnce(word);
  return std::chrono::steady_clock::now() - start;
}

// A pause takes 10 cycles on some processors and 140 on others.
int64_t SpinsOfAMillisecond() {
  std::chrono::nanoseconds shortest = TimeOfPauses();
  for (int i = 1; i < kStretches; ++i) shortest = std::min(shortest, TimeOfPauses());
  const int64_t stretches = kSpinning / std::max(shortest, std::chrono::nanoseconds(1));
  return std::max<int64_t>(stretches, 1) * kPausesTimed;
}

std::string ProgramPath() {
  char path[4096];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof(path));
  // A path that was cut off names nothing, and the restart fails.
  return size <= 0 ? "" : std::string(path, static_cast<size_t>(size));
}

}  // namespace

std::optional<std::vector<std::string>> WithShortSpinning(std::vector<std::string> environment) {
  for (const std::string& variable : environment) {
    if (absl::StartsWith(variable, "OMP_WAIT_POLICY=") ||
        absl::StartsWith(variable, "GOMP_SPINCOUNT=")) {
      return std::nullopt;
    }
  }
  environment.push_back(absl::StrCat("GOMP_SPINCOUNT=", SpinsOfAMillisecond()));
  return environment;
}

void RestartWithShortSpinning(char** arguments) {
  std::vector<std::string> inherited;
  for (char** variable = environ; *variable != nullptr; ++variable) inherited.push_back(*variable);
  std::optional<std::vector<std::string>> environment = WithShortSpinning(std::move(inherited));
  if (!environment) return;
  std::vector<char*> variables;
  for (std::string& variable : *environment) variables.push_back(variable.data());
  variables.push_back(nullptr);
  execve(ProgramPath().c_str(), arguments, variables.data());
}

}  // namespace plait
