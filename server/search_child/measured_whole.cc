#include "server/search_child/measured_whole.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/wire/names.h"
#include "server/search_child/choose_body.h"

namespace plait {
namespace {

// Two processes that import Python's packages.
constexpr double kWholeSecondsLeast = 1;

absl::StatusOr<RuntimeMeasurement> Measure(const std::vector<v1::Digest>& models,
                                           RuntimeSource& source) {
  const RuntimeBatch batch = {.loads = kRuntimeLoads,
                              .rounds = 12,
                              .rounds_min = kRuntimeRoundsMin,
                              .seconds_max = source.SecondsLeft()};
  if (batch.seconds_max < kWholeSecondsLeast) {
    return source.Skip(wire::kSessionRuntime, kNoTimeForRuntime);
  }
  PLAIT_ASSIGN_OR_RETURN(RuntimeMeasurement measured,
                         source.Measure(wire::kSessionRuntime, models, batch));
  // A file names the build that made it, and another one may replay the log.
  for (size_t i = 1; i < measured.models.size(); ++i) measured.models[i].candidate.clear();
  return measured;
}

}  // namespace

bool MeasuresWhole(const SearchResult& found, const RuntimeSource& source) {
  return !found.islands.empty() && source.has_session();
}

absl::StatusOr<std::optional<RuntimeDecision>> MeasureWhole(const v1::Digest& original,
                                                            const SearchResult& found,
                                                            const ModelWithPlan& file,
                                                            JobRuntimes& runtimes,
                                                            std::vector<std::string>& warnings) {
  if (found.islands.empty()) return std::nullopt;
  PLAIT_ASSIGN_OR_RETURN(RuntimeSource* const source, runtimes.Source(warnings));
  if (source == nullptr || !MeasuresWhole(found, *source)) return std::nullopt;
  std::vector<absl::string_view> parts = file.kept;
  parts.push_back(file.appended);
  v1::Digest made;
  PLAIT_ASSIGN_OR_RETURN(const bool is_added, runtimes.AddModel(parts, made));
  if (!is_added) return std::nullopt;
  PLAIT_RETURN_IF_ERROR(runtimes.Tell());
  PLAIT_ASSIGN_OR_RETURN(const RuntimeMeasurement measured, Measure({original, made}, *source));
  runtimes.log().AddRuntimeMeasurement(measured);
  RuntimeDecision decision =
      DecisionOn(measured, measured.models.size() - 1, 1, runtimes.log().load_effect());
  const Equivalence& equivalence = decision.model.equivalence;
  if (equivalence.verdict == Verdict::kDifferent) {
    warnings.push_back(absl::StrCat(
        "outputs of the whole model in plait.InferenceSession differ from those without the plans ",
        std::isfinite(equivalence.max_rel_error)
            ? absl::StrCat("by ", equivalence.max_rel_error, " of the largest")
            : "in integers, in their number or where they are not finite",
        ": compare them on your own data"));
  }
  return decision;
}

}  // namespace plait
