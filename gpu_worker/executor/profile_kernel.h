#pragma once

#include <string>

#include "absl/time/time.h"
#include "gpu_worker/executor/executor.h"
#include "optimizer/cost/profile.h"
#include "optimizer/kernels/lone_kernel.h"

namespace plait {

// How long a kernel is measured.
// Values below 3 samples are raised to it: fewer have no spread.
struct ProfileOptions {
  int samples_max = 100;
  // No sample is started after this time, but for the first three; a kernel that takes longer than
  // this for its second run, or than ten times this for its first, gets that one as a sample.
  absl::Duration time_max = absl::Milliseconds(200);
};

// A kernel's time, or why there is none.
struct KernelProfile {
  Profile profile;    // samples == 0 when the kernel could not run
  std::string error;  // then: why
};

// Measures a kernel on the executor's device, on seeded inputs that are never zero. With
// cold_weights the weights are dropped from the caches before every run, as they are in a network
// whose other layers have run in between, and inputs and outputs from those of each core.
// Copies of a kernel that take turns, with 60 to 560 MB of weights in all, were 1 to 7 % slower,
// and so were copies that were dropped from the caches and run once each.
// Never fails: a kernel that the device cannot load or run has no samples, and neither has any on a
// simulated device.
// The first run is not counted, but for that of a very slow kernel. Beside the times, the profile
// tells what the kernel computes and moves at least, from the graph alone.
KernelProfile ProfileKernel(Executor& executor, const LoneKernel& lone,
                            const ProfileOptions& options);

}  // namespace plait
