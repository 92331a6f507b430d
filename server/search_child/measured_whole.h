#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "optimizer/onnx/attach_plan.h"
#include "optimizer/search/optimize.h"
#include "server/search_child/job_runtimes.h"
#include "server/search_child/runtime_decision.h"

namespace plait {

// Whether the whole of a model is to be measured: it has nodes that plait lacks, so that a worker
// of plait's times the parts between them, and there is a plait.InferenceSession, which runs all.
bool MeasuresWhole(const SearchResult& found, const RuntimeSource& source);

// What a session needs for the original, by default plans for its parts, and for the result's file,
// whose outputs are compared, which a warning says where they differ. Nothing where the whole is
// not to be measured; a note in the decision where it could not be.
// Errors: those of JobRuntimes and RuntimeSource.
absl::StatusOr<std::optional<RuntimeDecision>> MeasureWhole(const v1::Digest& original,
                                                            const SearchResult& found,
                                                            const ModelWithPlan& file,
                                                            JobRuntimes& runtimes,
                                                            std::vector<std::string>& warnings);

}  // namespace plait
