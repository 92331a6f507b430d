#pragma once

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "optimizer/cost/profile.h"
#include "optimizer/kernels/kernel_catalog.h"
#include "optimizer/kernels/lone_kernel.h"

namespace plait {

// What `predict` says of each kernel that is asked for, in order. A key that describes no kernel
// has a profile without samples.
std::vector<Profile> PredictEach(absl::Span<const ProfileRequest> requests,
                                 absl::FunctionRef<Profile(const LoneKernel&)> predict);

// Says how long kernels take on a device that is only described: by the roofline of a processor of
// its instruction set and threads, of which each kernel reaches the share that its family expects
// (KernelCatalog::ExpectedShare), and a gap for each launch. Nothing runs, and equal questions have
// equal answers, so that a plan which is made by it is the same on every run. Good for choosing
// among kernels, never for promising a time. Not thread-safe.
class PredictedProfiler : public Profiler {
 public:
  // Both must outlive the profiler.
  PredictedProfiler(const DeviceDescription& device, const KernelCatalog& catalog)
      : device_(device), catalog_(catalog) {}

  // Never fails. A key that describes no kernel has a profile without samples.
  absl::StatusOr<std::vector<Profile>> Measure(absl::Span<const ProfileRequest> requests) override;

 private:
  Profile Predict(const LoneKernel& lone) const;

  const DeviceDescription& device_;
  const KernelCatalog& catalog_;
};

}  // namespace plait
