#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "optimizer/cost/described_device.h"
#include "optimizer/cost/profile.h"
#include "proto/wire/json.h"

// Times that the recorder (bench/gpu) took on a GPU, as what a search on the description of that
// GPU asks for. All functions are pure and thread-safe.
namespace plait {

// A file of a recorder's folder, as it is; empty: the folder lacks it. profiles.jsonl may be
// continued in profiles_2.jsonl.
struct RecordingFile {
  std::string name;
  std::string text;
};

// A kernel's time, of the fastest candidate that was right.
struct RecordedTime {
  ProfileKey key;         // as a search on model:NAME has it
  std::string candidate;  // whose time it is: "cudnn/eng44/k2=12"
  // Bytes are predicted, since a recorder cannot tell which of them came out of a cache; without
  // the record of a profile (samples 1) so is compute_share.
  Profile profile;
  double predicted_us = 0;  // what the description says
};

// Lines that are no such time. Numbers are counted from 1.
struct RefusedLines {
  std::string file;
  std::string reason;
  std::vector<int> lines;
};

struct Recording {
  const DescribedDevice* device = nullptr;  // never nullptr where it is returned
  int64_t recorded_at_unix_seconds = 0;
  std::map<std::string, int> kernels;  // family -> how many kernels.jsonl lists
  std::vector<RecordedTime> times;     // each key once, ordered by its text
  std::vector<RefusedLines> refused;   // ordered by file and reason
};

// What device.json, kernels.jsonl, profiles.jsonl, profiles_2.jsonl and candidates.jsonl say, of
// which the last three may be missing. A line that names a kernel of another device, or that cannot
// be read, is refused and stops nothing: a recording that was cut off has such ones. The text of a
// problem in candidates.jsonl lacks what follows a convolution, and pads: it counts where just one
// listed kernel has it.
// Errors: InvalidArgument when device.json is missing, describes a fake device or one that plait
// does not, or when there is no kernel list.
absl::StatusOr<Recording> ReadRecording(absl::Span<const RecordingFile> files);

// A row for each family that is listed, and one for all: kernels listed and recorded, and of
// predicted over recorded the median, the 10th and 90th percentile, and the one farthest from 1.
std::string RecordingTable(const Recording& recording);
// The same: [{"family", "kernels", "recorded", "ratio_median", "ratio_p10", "ratio_p90",
// "ratio_worst"}], ratios null where nothing was recorded.
wire::Json FamiliesJson(const Recording& recording);

// "profiles.jsonl: 2 lines (12, 40): no JSON", one line each; no more than three numbers.
std::string RefusedText(const Recording& recording);
// All of them: [{"file", "reason", "lines": [12, 40]}].
wire::Json RefusedJson(const Recording& recording);

}  // namespace plait
