#include "gpu_worker/backends/cpu/run/device.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/machine_cores.h"
#include "base/machine_memory.h"
#include "gpu_worker/backends/cpu/loops/instruction_set.h"
#include "gpu_worker/backends/cpu/loops/loops.h"
#include "gpu_worker/backends/cpu/onednn/onednn.h"
#include "gpu_worker/backends/cpu/run/processor.h"

namespace plait {
DeviceDescription DescribeCpu(int threads, int64_t memory_bytes_max) {
  DeviceDescription device;
  device.id = "cpu";
  device.backend = "cpu";
  const Processor processor = DescribeProcessor();
  device.name = processor.name;
  device.instruction_set = std::string(InstructionSetName(CurrentInstructionSet()));
  const int cores = MachineCores();
  device.threads = threads > 0 ? std::min(threads, cores) : cores;
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
