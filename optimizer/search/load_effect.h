#pragma once

#include "absl/status/statusor.h"
#include "optimizer/cost/load_effect.h"
#include "optimizer/cost/profile_cache.h"
#include "optimizer/kernels/kernel_catalog.h"
#include "optimizer/search/verifier.h"

namespace plait {

// What is measured to learn a device's load effect: loads of a plan beside itself.
inline constexpr int kLoadsOfEffect = 20;

// Measures the load effect of a device: a small network of convolutions and matrix products, whose
// weights take some megabytes, is loaded twice side by side, again and again. Takes a few seconds,
// and about `seconds_max` at most: fewer loads are made then, down to three. What they find is good
// for every model, and is kept beside the device's profiles: measuring goes on where it ended in an
// earlier job, which `known` is of, and kLoadsOfEffect are enough. Returns both together.
// Nothing of it enters a job's measurement log but the result.
// Errors: those of measuring; Internal when the device did not answer as asked.
absl::StatusOr<LoadEffect> MeasureLoadEffect(const LoadEffect& known,
                                             const DeviceDescription& device,
                                             const KernelCatalog& catalog, Profiler& profiler,
                                             Verifier& verifier, double seconds_max);

}  // namespace plait
