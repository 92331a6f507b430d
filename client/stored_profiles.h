#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "client/json.h"
#include "optimizer/cost/profile_cache.h"
#include "optimizer/kernels/kernel_catalog.h"
#include "plait/v1/profile.pb.h"

// Profiles of a store, for people: see `plait profiles`. Pure, but for what ProfileIndex keeps.
namespace plait {

// Twelve hexadecimal digits that stand for fingerprint and key, which are long.
std::string ProfileId(const v1::StoredProfile& profile);

// {"id", "device", "family", "variant", "width", "latency_us_median", "samples", "measured_at"},
// with `whole` also {"version", "graph", "formats", "latency_us_p10", "latency_us_mad", "bytes",
// "flops", "compute_share", "implementation", "workspace_bytes"}. A load effect has the family
// "load_effect" and its deviation in the place of times; a key that this plait cannot read the
// family "unknown".
Json StoredProfileJson(const v1::StoredProfile& profile, bool whole);

// The same as a row of a table, and what stands above it.
std::string ProfilesHeading();
std::string ProfileRow(const v1::StoredProfile& profile);

// A profile as a line of a file of exported ones: JSON, in the form of its proto.
absl::StatusOr<std::string> ProfileLine(const v1::StoredProfile& profile);
// The inverse. Errors: InvalidArgument.
absl::StatusOr<v1::StoredProfile> ParseProfileLine(absl::string_view line);

// Whether no search of a plait with this catalog can find the profile: its kernel is of another
// version or family, or its key has another form. Never a load effect.
bool IsStale(const v1::StoredProfile& profile, const KernelCatalog& catalog);

// What a store knows of kernels, so that one that it does not know can be told apart from all that
// it does. Not thread-safe.
class ProfileIndex {
 public:
  void Add(const v1::StoredProfile& profile);

  // Why a search must measure this kernel; "" where the store has a steady profile of it. The
  // nearest profile that it has decides: one that is unsteady, that differs in the version of the
  // kernel's code, in the device, in variant, formats or width, in shapes or attributes, or none of
  // the family at all.
  std::string WhyMissing(const ProfileKey& key) const;

 private:
  absl::flat_hash_set<std::string> keys_;
  absl::flat_hash_set<std::string> unsteady_keys_;
  // Texts of keys without a field or several -> what that field was, once.
  absl::flat_hash_map<std::string, std::string> without_version_;
  absl::flat_hash_map<std::string, std::string> without_device_;
  absl::flat_hash_map<std::string, int> of_graph_;
  absl::flat_hash_map<std::string, int> of_family_;
};

// Operators of a key's kernel in order, "Conv Relu"; "reorder" for one that copies formats.
std::string OperatorsOf(const ProfileKey& key);

}  // namespace plait
