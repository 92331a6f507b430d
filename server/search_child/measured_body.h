#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optimizer/onnx/bind.h"
#include "optimizer/onnx/model.h"
#include "optimizer/search/optimize.h"
#include "plait/internal/search_child.pb.h"
#include "server/search_child/choose_body.h"
#include "server/search_child/job_runtimes.h"
#include "server/search_child/result_file.h"

namespace plait {

// Seconds of a job's budget that are kept for measuring in so many runtimes: 15 %, and no less than
// two for each. 0 where that is more than half of it: then nothing is measured in them.
double SecondsForRuntimes(double budget_seconds, int runtimes);

// What a search found, and what it was found in. References must outlive it.
struct FoundModel {
  const internal::Start& start;
  absl::string_view bytes;  // of the original
  const Model& model;
  const Bound& bound;
  const SearchResult& found;
  Body body;         // that the job asks for, or that it has where nothing is measured
  bool keeps_plans;  // of those that the model came with, which a rewritten graph could not
};

// The body to return, and what the runtimes said.
struct MeasuredBody {
  Body body = Body::kOriginal;
  std::optional<Graph> other_graph;  // see ResultFile
  std::vector<RuntimeDecision> decisions;
};

// Measures the original and the best rewritten graphs in the job's runtimes, and chooses the body
// by it where the job leaves that open (ChooseBody). A body that the job names is returned in any
// case, with a warning where it is slower in one of them. Without runtimes the body is the job's.
// Where plait is among the runtimes, only such graphs are measured as the plan can go with, which a
// warning says of others. What cannot be written as ONNX is left out.
// Errors: those of ChooseBody, of PlansInBody and of writing files.
absl::StatusOr<MeasuredBody> MeasureBodies(const FoundModel& found, JobRuntimes& runtimes,
                                           std::vector<std::string>& warnings);

}  // namespace plait
