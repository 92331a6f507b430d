#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "optimizer/cost/yardsticks.h"
#include "optimizer/kernels/profile_key.h"

namespace plait {

// What was measured of a kernel that ran alone. Times are microseconds per run; the median decides,
// the others say how far it can be trusted.
// A time contains what the device needs to begin the kernel behind another one of its stream: it is
// that of one kernel in a row of them. So a schedule adds a launch gap only where a device has one
// that its profiles do not contain (DeviceDescription::launch_gap_us), and none has so far.
// The median and not the mean: one interrupt among a hundred samples must not decide.
struct Profile {
  double latency_us_median = 0;
  double latency_us_p10 = 0;
  double latency_us_mad = 0;  // median absolute deviation
  int samples = 0;            // 0: the kernel cannot run, and no other field counts
  // Both are counted from the kernel's graph, not measured.
  int64_t bytes = 0;  // off-chip bytes at least moved (inputs + outputs + weights)
  int64_t flops = 0;
  // Of the device's cores or SMs, on average over its time: 0.5 takes half of them all the while,
  // or all of them half of the time.
  double compute_share = 1;
  // Of the moment in which it was measured: multiply-adds by as many threads as the kernel takes,
  // for all threads together. The times are raw: ScaledToPresent compares them with those of
  // another hour.
  Yardsticks yardsticks;
  // The kernel's variant with the implementation that the device chose where the variant leaves
  // that open, which a plan that names it gets again; empty where the variant says all.
  std::string implementation;
  int64_t workspace_bytes = 0;  // of the device's memory while it runs, beside its operands

  friend bool operator==(const Profile&, const Profile&) = default;
};

// One request to measure: everything a worker needs beside the key is inside the key, so any worker
// of that device can answer, without the model.
// A type of its own, so that what is asked may grow without every Profiler changing.
struct ProfileRequest {
  ProfileKey key;
};

// Measures kernels: on a device here, through the daemon on a worker's, or from a log. Batched, so
// that a slow device is used well. Implementations say whether they are thread-safe; the search
// calls from one thread.
class Profiler {
 public:
  virtual ~Profiler() = default;

  // One profile per request, in order. A kernel that cannot run has samples == 0 (never a zero
  // latency that could be taken for a measurement). Blocks until all are measured.
  // After an error no profile is returned, not even of kernels that were measured before it.
  // Errors: Unavailable when the device is gone; Cancelled; DeadlineExceeded.
  virtual absl::StatusOr<std::vector<Profile>> Measure(
      absl::Span<const ProfileRequest> requests) = 0;

  // How fast the device is now; unknown where there are no yardsticks, as on a device that is only
  // described. Errors: as Measure.
  virtual absl::StatusOr<Yardsticks> ReadYardsticks() { return Yardsticks(); }
};

}  // namespace plait
