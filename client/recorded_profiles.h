#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/kernel_list/recording.h"
#include "plait/v1/profile.pb.h"

namespace plait {

// Reads the folder that bench/gpu/run has made. Errors: those of ReadRecording, naming the folder,
// and of the file system.
absl::StatusOr<Recording> ReadRecordingFolder(const std::string& folder);

// Its times as a store keeps them, under the name of the described device. Pure.
std::vector<v1::StoredProfile> StoredProfilesOf(const Recording& recording);

}  // namespace plait
