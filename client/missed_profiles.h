#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "client/stored_profiles.h"
#include "optimizer/onnx/bind.h"

namespace plait {

// A kernel that a search would have to measure, and why.
struct MissedProfile {
  ProfileKey key;
  std::string reason;  // ProfileIndex::WhyMissing
};

// The keys of all kernels that the device offers for a model in normal form, each once, in the
// order of its nodes: what a search asks for first. Errors: those of ImportModel and BindToRun.
absl::StatusOr<std::vector<ProfileKey>> KeysOfModel(const std::string& path, const Bindings& shapes,
                                                    const DeviceDescription& device,
                                                    std::vector<std::string>* warnings);

// Those of them that the store does not have, in their order.
std::vector<MissedProfile> MissedProfiles(absl::Span<const ProfileKey> keys,
                                          const ProfileIndex& index);

// [{"family", "variant", "width", "operators", "formats", "graph", "reason"}]
Json MissesJson(absl::Span<const MissedProfile> missed);

// A line for each; empty where there is none.
std::string MissesTable(absl::Span<const MissedProfile> missed);

}  // namespace plait
