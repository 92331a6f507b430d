#include "client/missed_profiles.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "client/files/model.h"
#include "gpu_worker/backends/catalogs.h"
#include "loading/file_plans.h"
#include "optimizer/cover/kernel_table.h"
#include "optimizer/normal_form/canonicalize.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

// Behind a cache that is only asked what it does not have.
class NoProfiler : public Profiler {
 public:
  absl::StatusOr<std::vector<Profile>> Measure(absl::Span<const ProfileRequest>) override {
    return absl::UnimplementedError("nothing is measured");
  }
  absl::StatusOr<Yardsticks> ReadYardsticks() override {
    return absl::UnimplementedError("nothing is measured");
  }
};

std::string MissedKernelText(const ProfileKey& key) {
  return key.variant.empty() ? key.family : absl::StrCat(key.family, " ", key.variant);
}

}  // namespace

absl::StatusOr<std::vector<ProfileKey>> KeysOfModel(const std::string& path, const Bindings& shapes,
                                                    const DeviceDescription& device,
                                                    std::vector<std::string>* warnings) {
  PLAIT_ASSIGN_OR_RETURN(const Model model, ImportModel(path));
  PLAIT_ASSIGN_OR_RETURN(const Bound bound,
                         BindToRun(path, model, ReadFilePlans(model), shapes, warnings));
  RuleCounts counts;
  PLAIT_ASSIGN_OR_RETURN(const Graph graph, Canonicalize(bound.graph, AllRules(), &counts));
  PLAIT_ASSIGN_OR_RETURN(const auto catalog, CatalogFor(device));
  NoProfiler profiler;
  MeasurementLog log;
  const ProfileCache profiles(profiler, log);
  const KernelOffers offers(graph, {.device = device, .catalog = *catalog, .profiles = profiles});
  std::vector<ProfileQuery> queries;
  offers.AppendMissing(/*single_nodes=*/false, &queries);
  std::vector<ProfileKey> keys;
  absl::flat_hash_set<std::string> seen;
  for (ProfileQuery& query : queries) {
    if (seen.insert(query.key.ToString()).second) keys.push_back(std::move(query.key));
  }
  return keys;
}

std::vector<MissedProfile> MissedProfiles(absl::Span<const ProfileKey> keys,
                                          const ProfileIndex& index) {
  std::vector<MissedProfile> missed;
  for (const ProfileKey& key : keys) {
    std::string reason = index.WhyMissing(key);
    if (!reason.empty()) missed.push_back({key, std::move(reason)});
  }
  return missed;
}

Json MissesJson(absl::Span<const MissedProfile> missed) {
  Json json = Json::array();
  for (const auto& [key, reason] : missed) {
    json.push_back({{"family", key.family},
                    {"variant", key.variant},
                    {"width", key.width},
                    {"operators", OperatorsOf(key)},
                    {"formats", key.formats},
                    {"graph", key.graph_text},
                    {"reason", reason}});
  }
  return json;
}

std::string MissesTable(absl::Span<const MissedProfile> missed) {
  std::string text;
  for (const auto& [key, reason] : missed) {
    absl::StrAppendFormat(&text, "%-28s %-32s %s\n", MissedKernelText(key), OperatorsOf(key),
                          reason);
  }
  return text;
}

}  // namespace plait
