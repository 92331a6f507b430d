#include "gpu_worker/backends/cpu/run/device.h"

#include <algorithm>

#include <sched.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/machine_memory.h"
#include "gpu_worker/backends/cpu/loops/loops.h"
#include "gpu_worker/backends/cpu/onednn/onednn.h"
#include "gpu_worker/backends/cpu/run/processor.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace plait {
namespace {

#if defined(__x86_64__)
std::string InstructionSet() {
  unsigned int a = 0, b = 0, c = 0, d = 0;
  const bool has_leaf = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0;
  const bool has_amx = has_leaf && (d >> 24 & 1) != 0 && (d >> 22 & 1) != 0;  // tiles and bf16
  unsigned int a1 = 0;
  const bool has_bf16 = __get_cpuid_count(7, 1, &a1, &b, &c, &d) != 0 && (a1 >> 5 & 1) != 0;
  if (!__builtin_cpu_supports("avx512f")) return __builtin_cpu_supports("avx2") ? "avx2" : "sse2";
  if (has_amx) return "amx";
  return has_bf16 ? "avx512_bf16" : "avx512";
}
#else
std::string InstructionSet() { return "generic"; }
#endif

int AvailableCores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0) return 1;
  return std::max(1, CPU_COUNT(&cores));
}

}  // namespace

DeviceDescription DescribeCpu(int threads, int64_t memory_bytes_max) {
  DeviceDescription device;
  device.id = "cpu";
  device.backend = "cpu";
  const Processor processor = DescribeProcessor();
  device.name = processor.name;
  device.instruction_set = InstructionSet();
  device.threads = threads > 0 ? std::min(threads, AvailableCores()) : AvailableCores();
  device.memory_bytes = MachineMemoryBytesUpTo(memory_bytes_max);
  device.fingerprint =
      absl::StrCat("cpu; ", device.name, "; ", ProcessorId(processor), "; ", device.instruction_set,
                   "; threads=", device.threads, "; onednn=", OnednnVersion(),
                   "; loops=", Loops().instruction_set);
  // A fingerprint has no spaces, because it is a name in listings and on the wire.
  absl::StrReplaceAll({{" ", "_"}}, &device.fingerprint);
  return device;
}

}  // namespace plait
