#include "gpu_worker/backends/cpu/run/device.h"

#include <algorithm>

#include <sched.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/machine_memory.h"
#include "gpu_worker/backends/cpu/loops/instruction_set.h"
#include "gpu_worker/backends/cpu/loops/loops.h"
#include "gpu_worker/backends/cpu/onednn/onednn.h"
#include "gpu_worker/backends/cpu/run/processor.h"

namespace plait {
namespace {

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
  device.instruction_set = std::string(InstructionSetName(CurrentInstructionSet()));
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
