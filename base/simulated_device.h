#pragma once

#include "absl/strings/string_view.h"

namespace plait {

// Whether a device's fingerprint says that it is simulated, in a field of its own
// ("cuda;_simulated_sm_90;_sm_90;_simulated"): it computes, and has no times. What stands in for
// them is a prediction for another device, which no store of profiles takes and no report calls a
// latency. Pure and thread-safe, for any text.
bool IsSimulatedFingerprint(absl::string_view fingerprint);

}  // namespace plait
