#pragma once

#include "optimizer/kernels/kernel_catalog.h"

namespace plait {

// This machine's processor, granted `threads` cores (0: all that the process may run on). Its
// fingerprint names all that times depend on but the kernels' code, which has versions of its own
// (KernelCatalog::Version): the processor, its instruction set, the cores granted, oneDNN's version
// and the instruction set of our loops. Thread-safe.
// Never fails: a processor that says nothing of itself is called "x86-64" or "unknown processor".
// More threads than the process may use are not granted. `memory_bytes` is the machine's whole
// memory.
DeviceDescription DescribeCpu(int threads);

}  // namespace plait
