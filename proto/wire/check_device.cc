#include "proto/wire/check_device.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "proto/wire/error.h"
#include "proto/wire/names.h"

namespace plait::wire {
namespace {

// More than any device runs at a time: schedules keep something for each.
constexpr int kStreamsMax = 1024;

absl::Status CheckDeviceTime(absl::string_view field, double us) {
  if (us >= 0 && us <= kLatencyUsMax) return absl::OkStatus();
  return FieldError(field, absl::StrCat("must be 0 to ", kLatencyUsMax, ", is ", us));
}

// Rates that schedules are computed with.
absl::Status CheckRate(absl::string_view field, double value) {
  if (std::isfinite(value) && value >= 0) return absl::OkStatus();
  return FieldError(field, absl::StrCat("must be a number of 0 or more, is ", value));
}

}  // namespace

absl::Status CheckDevice(const v1::Device& device) {
  if (device.runtime_version().empty()) {
    PLAIT_RETURN_IF_ERROR(CheckDeviceId("device.id", device.id()));
  } else {
    PLAIT_RETURN_IF_ERROR(CheckRuntime("device.id", device.id()));
    PLAIT_RETURN_IF_ERROR(CheckName("device.runtime_version", device.runtime_version()));
    // What "cpu" and "plait" say must stay what it was.
    if (device.backend() != device.id() || device.id() == "cpu" || device.id() == "plait") {
      return FieldError("device.backend", "must be the id of a runtime, which is its name");
    }
  }
  if (device.predicted()) return FieldError("device.predicted", "must be false: workers measure");
  // Never guessed from the id.
  PLAIT_RETURN_IF_ERROR(CheckName("device.backend", device.backend()));
  PLAIT_RETURN_IF_ERROR(CheckName("device.fingerprint", device.fingerprint()));
  // A kernel's share of the device is a part of it.
  if (device.cores() < 1 || device.cores() > kPlanThreadsMax) {
    return FieldError("device.cores",
                      absl::StrCat("must be 1 to ", kPlanThreadsMax, ", is ", device.cores()));
  }
  if (device.memory_bytes() < 0) {
    return FieldError("device.memory_bytes",
                      absl::StrCat("must be 0 or more, is ", device.memory_bytes()));
  }
  if (device.streams_max() < 0 || device.streams_max() > kStreamsMax) {
    return FieldError("device.streams_max",
                      absl::StrCat("must be 0 to ", kStreamsMax, ", is ", device.streams_max()));
  }
  PLAIT_RETURN_IF_ERROR(CheckDeviceTime("device.launch_gap_us", device.launch_gap_us()));
  PLAIT_RETURN_IF_ERROR(CheckDeviceTime("device.cross_stream_us", device.cross_stream_us()));
  PLAIT_RETURN_IF_ERROR(
      CheckRate("device.bandwidth_bytes_per_us", device.bandwidth_bytes_per_us()));
  return absl::OkStatus();
}

}  // namespace plait::wire
