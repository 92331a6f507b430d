#include "gpu_worker/backends/cpu/loops/instruction_set.h"

#include <algorithm>
#include <atomic>
#include <iterator>

#include "base/instruction_set_names.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace plait {
namespace {

std::atomic<InstructionSet> limit = InstructionSet::kAmx;

#if defined(__x86_64__)
// Linux hands out the memory in which tiles are saved only to whom asks (x86: arch_prctl), and a
// sandbox may refuse. The permission counts for all threads.
bool MayUseTiles() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

bool HasTiles() {
  unsigned int a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned int kBf16 = 1u << 22, kTiles = 1u << 24, kBytes = 1u << 25;
  constexpr unsigned int kAll = kBf16 | kTiles | kBytes;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & kAll) != kAll) return false;
  // XCR0, which tells what the system saves: the tiles' configuration and their data.
  constexpr unsigned int kTileState = 3u << 17;
  unsigned int saved = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
  return (saved & kTileState) == kTileState && MayUseTiles();
}

// The compiler's functions also ask whether the system saves the registers.
InstructionSet Detect() {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    return InstructionSet::kGeneric;
  }
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
      !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512dq")) {
    return InstructionSet::kAvx2;
  }
  if (HasTiles()) return InstructionSet::kAmx;
  unsigned int a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned int kBf16 = 1u << 5;
  const bool has_bf16 = __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & kBf16) != 0;
  return has_bf16 ? InstructionSet::kAvx512Bf16 : InstructionSet::kAvx512;
}
#else
InstructionSet Detect() { return InstructionSet::kGeneric; }
#endif

}  // namespace

absl::string_view InstructionSetName(InstructionSet set) {
  return kInstructionSetNames[static_cast<int>(set)];
}

std::optional<InstructionSet> InstructionSetNamed(absl::string_view name) {
  const auto* const begin = std::begin(kInstructionSetNames);
  const auto* const found = std::find(begin, std::end(kInstructionSetNames), name);
  if (found == std::end(kInstructionSetNames)) return std::nullopt;
  return static_cast<InstructionSet>(found - begin);
}

InstructionSet DetectedInstructionSet() {
  static const InstructionSet detected = Detect();
  return detected;
}

InstructionSet CurrentInstructionSet() { return std::min(DetectedInstructionSet(), limit.load()); }

void LimitInstructionSet(InstructionSet best) { limit = best; }

}  // namespace plait
