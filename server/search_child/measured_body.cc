#include "server/search_child/measured_body.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/digest.h"
#include "base/limits.h"
#include "base/statistics.h"
#include "base/status_macros.h"
#include "gpu_worker/executor/make_inputs.h"
#include "optimizer/normal_form/canonicalize.h"
#include "optimizer/onnx/check_export.h"
#include "optimizer/onnx/export.h"
#include "proto/wire/digest.h"
#include "server/search_child/measurement_source.h"
#include "server/search_child/output_file.h"
#include "server/search_child/plan_targets.h"
#include "server/search_child/plans_in_body.h"
#include "server/search_child/protocol/descriptors.h"

namespace plait {
namespace {

constexpr double kBudgetShare = 0.15;
constexpr double kSecondsLeast = 2;  // of one runtime: three loads of a small model
constexpr double kBudgetShareMax = 0.5;
// Rewritten graphs: each is a process, and its rounds are taken from the others.
constexpr size_t kRewrittenMax = 3;
// Of the four statistics that plans are compared on: uniform values, and such as are not negative.
constexpr int kInputIndices[] = {0, 2};
constexpr absl::string_view kBodyWhat = "a rewritten model";

struct Rewritten {
  Graph graph;
  Body body = Body::kSearched;
};

Body BodyOfRules(const RuleCounts& rules) {
  return IsPortable(rules) ? Body::kPortable : Body::kSearched;
}

// A file with several plans, of this job or others, has the original's body, and so has one whose
// batch is open: a rewritten graph has the plan's.
bool IsChoiceOpen(const FoundModel& model) {
  const v1::OptimizeOptions& options = model.start.options();
  return !model.keeps_plans && options.body() == "auto" && options.opset() == 0 &&
         options.plan_for().empty() && options.shape_ranges().empty() &&
         !LeavesBatchOpen(model.model, options);
}

bool NamesPlait(const v1::OptimizeOptions& options) {
  const auto& names = options.runtimes();
  return names.empty() || std::find(names.begin(), names.end(), "plait") != names.end();
}

// The best few that differ from the original and from each other.
absl::StatusOr<std::vector<Rewritten>> RewrittenOf(const FoundModel& model) {
  const SearchResult& found = model.found;
  std::vector<Rewritten> rewritten;
  std::set<std::string> seen = {model.bound.graph.fingerprint().ToString()};
  const auto add = [&](const Graph& graph, Body body) {
    if (rewritten.size() < kRewrittenMax && seen.insert(graph.fingerprint().ToString()).second) {
      rewritten.push_back({graph, body});
    }
  };
  if (!IsChoiceOpen(model)) {
    if (model.body != Body::kOriginal) add(found.graph, model.body);
    return rewritten;
  }
  if (found.improved) add(found.graph, BodyOfRules(found.rules_applied));
  RuleCounts counts;
  PLAIT_ASSIGN_OR_RETURN(const Graph portable,
                         Canonicalize(model.bound.graph, PortableRules(), &counts));
  add(portable, Body::kPortable);
  for (const KeptGraph& kept : found.other_graphs) {
    add(kept.graph, BodyOfRules(kept.rules_applied));
  }
  return rewritten;
}

// Blobs for the daemon, one behind the other in a file. Those of a replay are only named: nobody
// measures them.
class BlobFile {
 public:
  explicit BlobFile(bool is_replay) : is_replay_(is_replay) {}

  // False, with nothing written, where the file would pass the limit of its process.
  absl::StatusOr<bool> Add(absl::string_view bytes, v1::Digest& digest) {
    if (written_bytes_ + static_cast<int64_t>(bytes.size()) > kModelBytesMax) return false;
    if (!is_replay_) PLAIT_RETURN_IF_ERROR(AppendToFile(kChildBlobs, bytes, kBodyWhat));
    written_bytes_ += static_cast<int64_t>(bytes.size());
    digest = wire::DigestToProto(DigestOf(bytes));
    *written_.add_blobs() = digest;
    return true;
  }

  absl::Status Tell(ChildConnection& connection) const {
    internal::ChildMessage message;
    *message.mutable_blobs_written() = written_;
    return connection.Send(message);
  }

 private:
  const bool is_replay_;
  int64_t written_bytes_ = 0;
  internal::BlobsWritten written_;
};

class Measurer {
 public:
  Measurer(const FoundModel& found, const RuntimeContext& context)
      : found_(found), context_(context), file_(context.replayed != nullptr) {}

  absl::StatusOr<MeasuredBody> Run(std::vector<std::string>& warnings) {
    PLAIT_ASSIGN_OR_RETURN(std::vector<Rewritten> rewritten, RewrittenOf(found_));
    PLAIT_RETURN_IF_ERROR(Export(rewritten, warnings));
    PLAIT_ASSIGN_OR_RETURN(const std::unique_ptr<RuntimeSource> source, MakeSource(warnings));
    const bool is_open = IsChoiceOpen(found_);
    MeasuredBody measured;
    measured.body = found_.body;
    if (source == nullptr || source->runtimes().empty()) return measured;
    PLAIT_ASSIGN_OR_RETURN(BodyChoice choice,
                           ChooseBody(models_,
                                      {.is_given = !is_open,
                                       .latency_us = Median(found_.found.baseline_latency_us),
                                       .load_effect = context_.log.load_effect()},
                                      *source, context_.log));
    measured.decisions = std::move(choice.decisions);
    if (!is_open) {
      WarnOfSlower(measured.decisions, warnings);
      return measured;
    }
    measured.body = Body::kOriginal;
    if (choice.model == 0) return measured;
    Rewritten& chosen = rewritten_[static_cast<size_t>(choice.model) - 1];
    measured.body = chosen.body;
    if (chosen.graph.fingerprint() != found_.found.graph.fingerprint()) {
      measured.other_graph = std::move(chosen.graph);
    }
    return measured;
  }

 private:
  // Fills models_ and rewritten_ with what can be written, the original first.
  absl::Status Export(std::vector<Rewritten>& rewritten, std::vector<std::string>& warnings) {
    models_ = {found_.start.model()};
    for (Rewritten& one : rewritten) {
      const ExportOptions options = {.opset = found_.start.options().opset()};
      const ModelWeights weights = found_.model.weights();
      const absl::StatusOr<std::string> bytes =
          ExportOnnx(found_.model, one.graph, weights, options);
      if (!bytes.ok() || !CheckExport(*bytes, one.graph, weights).ok()) continue;
      PLAIT_ASSIGN_OR_RETURN(const bool is_eligible, IsEligible(*bytes, warnings));
      if (!is_eligible) continue;
      v1::Digest digest;
      PLAIT_ASSIGN_OR_RETURN(const bool is_written, file_.Add(*bytes, digest));
      if (!is_written) continue;
      models_.push_back(digest);
      rewritten_.push_back(std::move(one));
    }
    return absl::OkStatus();
  }

  // Where plait is among the runtimes, no body is chosen that the plan could not go with: what
  // plait ran in the plan's place was not measured.
  absl::StatusOr<bool> IsEligible(absl::string_view body,
                                  std::vector<std::string>& warnings) const {
    if (!IsChoiceOpen(found_) || !NamesPlait(found_.start.options())) return true;
    PLAIT_ASSIGN_OR_RETURN(const BodyPlans plans, PlansInBody(found_.model, found_.found, body,
                                                              found_.start.engine_version()));
    if (plans.missing.empty()) return true;
    warnings.push_back(absl::StrCat(
        "a rewritten graph was not measured in other runtimes, because plait's plan could not be ",
        "in its file: ", plans.missing.front()));
    return false;
  }

  // Null where nothing can be measured, which a warning says.
  absl::StatusOr<std::unique_ptr<RuntimeSource>> MakeSource(std::vector<std::string>& warnings) {
    if (context_.replayed != nullptr) return MakeLoggedRuntimes(*context_.replayed);
    RuntimeTaskInputs inputs;
    const absl::StatusOr<bool> are_made = AddInputs(inputs);
    if (!are_made.ok() && !absl::IsUnimplemented(are_made.status())) return are_made.status();
    if (!are_made.ok() || !*are_made) {
      warnings.push_back(absl::StrCat(
          "nothing was measured in other runtimes: ",
          are_made.ok() ? "the inputs are too large" : std::string(are_made.status().message())));
      return std::unique_ptr<RuntimeSource>();
    }
    PLAIT_RETURN_IF_ERROR(file_.Tell(context_.connection));
    inputs.threads = ThreadsOfJob(found_.start.options(), found_.start.device().cores());
    inputs.tolerance = ToleranceOf(found_.start.options());
    return MakeRemoteRuntimes(found_.start, context_.connection, context_.clock, context_.ends_at,
                              std::move(inputs));
  }

  // False when they are too many bytes.
  absl::StatusOr<bool> AddInputs(RuntimeTaskInputs& inputs) {
    const Graph& graph = found_.bound.graph;
    for (const TensorId id : graph.inputs()) {
      worker::v1::ModelInput& input = inputs.inputs.emplace_back();
      input.set_name(*graph.tensor(id).name);
      input.set_data_type(static_cast<int>(graph.type(id).dtype));
      for (const int64_t dim : graph.type(id).shape) input.add_dims(dim);
    }
    for (const int index : kInputIndices) {
      PLAIT_ASSIGN_OR_RETURN(const std::vector<Tensor> values,
                             MakeInputs(graph, found_.start.options().seed(), index));
      v1::InputSet& set = inputs.input_sets.emplace_back();
      for (size_t i = 0; i < values.size(); ++i) {
        v1::InputValue& value = *set.add_values();
        value.set_name(inputs.inputs[i].name());
        PLAIT_ASSIGN_OR_RETURN(const bool is_written,
                               file_.Add(values[i].bytes(), *value.mutable_blob()));
        if (!is_written) return false;
      }
    }
    for (const v1::InputSet& set : found_.start.options().input_sets()) {
      inputs.input_sets.push_back(set);
    }
    return true;
  }

  static void WarnOfSlower(const std::vector<RuntimeDecision>& decisions,
                           std::vector<std::string>& warnings) {
    for (const RuntimeDecision& decision : decisions) {
      if (decision.speedup.high >= 1) continue;
      warnings.push_back(absl::StrCat("the file's graph is slower in ", decision.runtime,
                                      " than the original (--body auto returns the original)"));
    }
  }

  const FoundModel& found_;
  const RuntimeContext& context_;
  BlobFile file_;
  std::vector<v1::Digest> models_;
  std::vector<Rewritten> rewritten_;  // of models_ behind the first
};

}  // namespace

double SecondsForRuntimes(double budget_seconds, int runtimes) {
  if (runtimes == 0) return 0;
  const double seconds = std::max(kBudgetShare * budget_seconds, kSecondsLeast * runtimes);
  return seconds <= kBudgetShareMax * budget_seconds ? seconds : 0;
}

absl::StatusOr<MeasuredBody> MeasureBodies(const FoundModel& found, const RuntimeContext& context,
                                           std::vector<std::string>& warnings) {
  const bool has_any = context.replayed != nullptr
                           ? !context.replayed->runtime_measurements().empty()
                           : found.start.runtimes_size() > 0;
  if (!has_any) {
    MeasuredBody measured;
    measured.body = found.body;
    return measured;
  }
  return Measurer(found, context).Run(warnings);
}

}  // namespace plait
