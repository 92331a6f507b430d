#pragma once

#include <cstdint>
#include <string>

#include "base/machine_cores.h"
#include "client/doctor/finding.h"
#include "optimizer/kernels/device.h"

namespace plait {

// All are pure but for those that are said to look.

// The processor, and the instruction set that kernels use there.
Finding ProcessorFinding(const DeviceDescription& cpu);

// How many threads plait starts, and what limits them. `machine_cores`: those of the whole machine.
Finding CoresFinding(const CoreLimits& limits, int machine_cores);

// Whether other programs keep this machine busy. `load_average`: threads that ran or waited to,
// over the last minute; negative: unknown. `machine_cores`: all that they share.
Finding LoadFinding(double load_average, int machine_cores);

Finding MemoryFinding(int64_t bytes);

// Look. Negative and 1 where the system does not say.
double LoadAverage();
int AllMachineCores();

}  // namespace plait
