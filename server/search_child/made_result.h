#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/search_child/measured_body.h"
#include "server/search_child/result_file.h"

namespace plait {

// What a job returns, and what other runtimes said on the way to it.
struct MadeResult {
  Body body = Body::kOriginal;
  MadeFile file;
  std::vector<std::string> file_warnings;  // what its readers will miss
  std::vector<RuntimeDecision> decisions;  // of the body
  std::optional<RuntimeDecision> whole;    // see MeasureWhole
};

// Measures in other runtimes, chooses the body by it, and makes the file, with further plans and
// those of `kept` beside the found one. Where plait's workers can time only parts of the model, the
// file is measured as a whole; and where that is certainly slower than the original, the found
// plans are left out of it, which a warning says: a plan that wins alone may lose between nodes
// that run elsewhere. Errors: those of MeasureBodies, MakeResultFile and MeasureWhole.
absl::StatusOr<MadeResult> MakeResult(const FoundModel& found,
                                      absl::Span<const SearchedPlan> further,
                                      absl::Span<const KeptPlan> kept,
                                      const RuntimeContext& context,
                                      std::vector<std::string>& warnings);

}  // namespace plait
