#include "optimizer/cost/predicted_profiler.h"

#include <algorithm>

#include "base/instruction_set_names.h"
#include "optimizer/cost/kernel_work.h"
#include "optimizer/cost/roofline.h"

namespace plait {
namespace {

// Of one core at some 3 GHz: a multiply-add of four floats each cycle without vectors of its own
// kind, two of eight, two of sixteen.
constexpr double kFlopsPerUsGeneric = 24e3;
constexpr double kFlopsPerUsAvx2 = 96e3;
constexpr double kFlopsPerUsAvx512 = 150e3;
// Of memory and far caches: what a core reads alone, and how many it takes to reach the limit of
// the memory.
constexpr double kBytesPerUs = 12e3;
constexpr int kCoresOfMemory = 6;
// To begin a kernel, and to hand it to other threads and wait for them.
constexpr double kLaunchUs = 1;
constexpr double kHandOverUs = 1;

Roofline RooflineOf(const DeviceDescription& device, int width) {
  double flops_per_us = kFlopsPerUsAvx512;
  if (device.instruction_set == "generic") flops_per_us = kFlopsPerUsGeneric;
  if (device.instruction_set == "avx2") flops_per_us = kFlopsPerUsAvx2;
  return {flops_per_us * width, kBytesPerUs * std::min(width, kCoresOfMemory)};
}

}  // namespace

Profile PredictedProfiler::Predict(const LoneKernel& lone) const {
  const KernelWork work = WorkOfKernel(lone);
  const int width = lone.kernel.width;
  const double share = catalog_.ExpectedShare(lone.kernel);
  Profile profile;
  profile.latency_us_median =
      RooflineOf(device_, width).LatencyUs({work.flops, work.bytes()}) / share + kLaunchUs +
      (width > 1 ? kHandOverUs : 0);
  profile.latency_us_p10 = profile.latency_us_median;
  profile.samples = 1;
  profile.bytes = work.bytes();
  profile.flops = work.flops;
  profile.compute_share = static_cast<double>(width) / device_.threads;
  return profile;
}

std::vector<Profile> PredictEach(absl::Span<const ProfileRequest> requests,
                                 absl::FunctionRef<Profile(const LoneKernel&)> predict) {
  std::vector<Profile> profiles(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    const absl::StatusOr<LoneKernel> lone = LoneKernelOf(requests[i].key);
    if (lone.ok()) profiles[i] = predict(*lone);
  }
  return profiles;
}

absl::StatusOr<std::vector<Profile>> PredictedProfiler::Measure(
    absl::Span<const ProfileRequest> requests) {
  return PredictEach(requests, [this](const LoneKernel& lone) { return Predict(lone); });
}

}  // namespace plait
