#pragma once

#include "optimizer/kernels/kernel_catalog.h"

namespace plait {

// This machine's processor, granted `threads` cores (0: all that the process may run on). Its
// fingerprint names all that times depend on but the kernels' code, which has versions of its own
// (KernelCatalog::Version): the processor by its name and its ProcessorId, its instruction set, the
// cores granted, oneDNN's version and the instruction set of our loops, in this order. Thread-safe.
// Never fails, whatever the processor says of itself.
// More threads and memory than the process may use are not granted.
// `memory_bytes_max` 0: all the memory that it may have.
DeviceDescription DescribeCpu(int threads, int64_t memory_bytes_max);

}  // namespace plait
