#pragma once

#include <vector>

#include "optimizer/cost/measurement_log.h"

namespace plait {

// Answers from a log what a device answered when the log was written, in whatever order it is
// asked. Not thread-safe. No device is needed, and nothing blocks.
class ReplayingProfiler : public Profiler {
 public:
  // `log` must outlive the profiler.
  explicit ReplayingProfiler(const MeasurementLog& log) : log_(log) {}

  // Errors: NotFound when the log lacks a key: it belongs to another model, build or device.
  absl::StatusOr<std::vector<Profile>> Measure(absl::Span<const ProfileRequest> requests) override;

  // Those of the device when the log was written.
  absl::StatusOr<Yardsticks> ReadYardsticks() override { return log_.yardsticks(); }

 private:
  const MeasurementLog& log_;
};

}  // namespace plait
