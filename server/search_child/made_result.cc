#include "server/search_child/made_result.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/search_child/measured_whole.h"

namespace plait {

absl::StatusOr<MadeResult> MakeResult(const FoundModel& found,
                                      absl::Span<const SearchedPlan> further,
                                      absl::Span<const KeptPlan> kept,
                                      const RuntimeContext& context,
                                      std::vector<std::string>& warnings) {
  JobRuntimes runtimes(found.start, found.bound.graph, context);
  PLAIT_ASSIGN_OR_RETURN(MeasuredBody measured, MeasureBodies(found, runtimes, warnings));
  MadeResult made;
  made.body = measured.body;
  made.decisions = std::move(measured.decisions);
  ResultFile result = {.body = measured.body,
                       .bytes = found.bytes,
                       .model = found.model,
                       .found = found.found,
                       .other_graph = measured.other_graph ? &*measured.other_graph : nullptr,
                       .further = further,
                       .kept = kept,
                       .opset = found.start.options().opset(),
                       .engine_version = found.start.engine_version()};
  PLAIT_ASSIGN_OR_RETURN(made.file, MakeResultFile(result, made.file_warnings));
  PLAIT_ASSIGN_OR_RETURN(made.whole, MeasureWhole(found.start.model(), found.found, made.file.parts,
                                                  runtimes, warnings));
  const bool is_slower = made.whole && made.whole->speedup.high < 1;
  if (!is_slower || measured.body != Body::kOriginal) return made;
  warnings.push_back(
      absl::StrCat("the plans of the model's parts are left out: with them the whole ran at ",
                   made.whole->speedup.median, " of its speed without in plait.InferenceSession"));
  result.has_plans = false;
  made.file_warnings.clear();
  PLAIT_ASSIGN_OR_RETURN(made.file, MakeResultFile(result, made.file_warnings));
  made.whole->model = made.whole->original;
  made.whole->speedup = {};
  return made;
}

}  // namespace plait
