#pragma once

#include "optimizer/kernels/kernel_catalog.h"

namespace plait {

// This machine's processor, granted `threads` cores (0: all that the process may run on).
DeviceDescription DescribeCpu(int threads);

}  // namespace plait
