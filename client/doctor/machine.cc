#include "client/doctor/machine.h"

#include <cmath>
#include <fstream>

#include <unistd.h>

#include "absl/strings/str_format.h"

namespace plait {
namespace {

// The largest models of bench/models need some three times their 1.3 GB while they are searched.
constexpr int64_t kMemoryBytesLow = int64_t{4} << 30;

// Less than this is what the system itself does.
constexpr double kIdleLoad = 0.5;

}  // namespace

Finding ProcessorFinding(const DeviceDescription& cpu) {
  Finding finding = {"processor", FindingLevel::kOk,
                     absl::StrFormat("%s, kernels use %s", cpu.name, cpu.instruction_set)};
  if (cpu.instruction_set == "generic") {
    finding.level = FindingLevel::kWarning;
    finding.fix =
        "it has no AVX2 or hides it: kernels are slow (of a virtual machine, pass the host's "
        "processor through)";
  }
  return finding;
}

Finding CoresFinding(const CoreLimits& limits, int machine_cores) {
  Finding finding = {"cores", FindingLevel::kOk,
                     absl::StrFormat("%d threads: the machine has %d cores, %d are allowed",
                                     limits.threads(), machine_cores, limits.allowed)};
  if (!std::isfinite(limits.quota)) return finding;
  absl::StrAppendFormat(&finding.text, ", control groups grant the time of %.3g", limits.quota);
  if (limits.quota < 1) {
    finding.level = FindingLevel::kWarning;
    finding.fix =
        "less than one core stops every thread again and again: times mean little "
        "(grant a whole core, as by docker run --cpus 1)";
  }
  return finding;
}

Finding LoadFinding(double load_average, int machine_cores) {
  if (load_average < 0) return {"load", FindingLevel::kOk, "unknown"};
  Finding finding = {"load", FindingLevel::kOk,
                     absl::StrFormat("%.1f of %d cores were busy over the last minute",
                                     load_average, machine_cores)};
  if (load_average > kIdleLoad) {
    finding.level = FindingLevel::kWarning;
    finding.fix =
        "measuring beside other programs takes longer and finds less (end them, or keep "
        "cores free for plait)";
  }
  return finding;
}

Finding MemoryFinding(int64_t bytes) {
  const double gigabytes = static_cast<double>(bytes) / 1e9;
  Finding finding = {"memory", FindingLevel::kOk, absl::StrFormat("%.1f GB", gigabytes)};
  if (bytes < kMemoryBytesLow) {
    finding.level = FindingLevel::kWarning;
    finding.fix =
        "large models will be refused (raise the limit of the container, if there is one)";
  }
  return finding;
}

double LoadAverage() {
  double load = -1;
  std::ifstream("/proc/loadavg") >> load;
  return load;
}

int AllMachineCores() {
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  return cores < 1 ? 1 : static_cast<int>(cores);
}

}  // namespace plait
