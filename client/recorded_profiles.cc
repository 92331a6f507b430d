#include "client/recorded_profiles.h"

#include <filesystem>
#include <system_error>

#include "base/status_macros.h"
#include "client/files/file.h"
#include "loading/model_file.h"
#include "proto/wire/measurement.h"

namespace plait {

absl::StatusOr<Recording> ReadRecordingFolder(const std::string& folder) {
  std::vector<RecordingFile> files;
  for (const char* name :
       {"device.json", "kernels.jsonl", "profiles.jsonl", "profiles_2.jsonl", "candidates.jsonl"}) {
    const std::filesystem::path path = std::filesystem::path(folder) / name;
    std::error_code ignored;  // a file that cannot be asked for cannot be read either
    if (!std::filesystem::exists(path, ignored)) continue;
    PLAIT_ASSIGN_OR_RETURN(std::string text, ReadFile(path.string()));
    files.push_back({name, std::move(text)});
  }
  absl::StatusOr<Recording> recording = ReadRecording(files);
  if (!recording.ok()) return Annotate(recording.status(), folder);
  return recording;
}

std::vector<v1::StoredProfile> StoredProfilesOf(const Recording& recording) {
  std::vector<v1::StoredProfile> profiles;
  for (const RecordedTime& time : recording.times) {
    v1::StoredProfile& stored = profiles.emplace_back();
    stored.set_key(time.key.ToString());
    stored.set_device_fingerprint(time.key.device_fingerprint);
    *stored.mutable_profile() = wire::ProfileToProto(time.profile);
    stored.mutable_measure_time()->set_seconds(recording.recorded_at_unix_seconds);
  }
  return profiles;
}

}  // namespace plait
