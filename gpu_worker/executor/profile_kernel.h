#pragma once

#include <string>

#include "absl/time/time.h"
#include "gpu_worker/executor/executor.h"
#include "optimizer/cost/profile.h"

namespace plait {

// How long a kernel is measured.
struct ProfileOptions {
  int samples_max = 100;
  // No sample is started after this time, but for the first three; a kernel that takes longer than
  // this for one run gets one sample.
  absl::Duration time_max = absl::Milliseconds(200);
};

struct KernelProfile {
  Profile profile;    // samples == 0 when the kernel could not run
  std::string error;  // then: why
};

// Measures the kernel of a key on the executor's device, on seeded inputs that are never zero. With
// cold_weights the weights are dropped from the caches before every run, as they are in a network
// whose other layers have run in between; its inputs stay warm, as the layer before leaves them.
KernelProfile ProfileKernel(Executor* executor, const ProfileKey& key,
                            const ProfileOptions& timing);

}  // namespace plait
