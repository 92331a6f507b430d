#include "server/search_child/job_runtimes.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "gpu_worker/executor/make_inputs.h"
#include "proto/wire/digest.h"
#include "server/search_child/measurement_source.h"
#include "server/search_child/output_file.h"
#include "server/search_child/plan_targets.h"
#include "server/search_child/protocol/descriptors.h"

namespace plait {
namespace {

// Of the four statistics that plans are compared on: uniform values, and such as are not negative.
constexpr int kInputIndices[] = {0, 2};
constexpr absl::string_view kBlobWhat = "a model for other runtimes";

}  // namespace

absl::StatusOr<bool> JobRuntimes::AddModel(absl::Span<const absl::string_view> parts,
                                           v1::Digest& digest) {
  DigestBuilder builder;
  for (const absl::string_view part : parts) builder.Update(part);
  const Digest made = builder.Finish();
  if (blobs_bytes_ + made.size_bytes > kModelBytesMax) return false;
  if (context_.replayed == nullptr) {
    for (const absl::string_view part : parts) {
      PLAIT_RETURN_IF_ERROR(AppendToFile(kChildBlobs, part, kBlobWhat));
    }
  }
  blobs_bytes_ += made.size_bytes;
  digest = wire::DigestToProto(made);
  *untold_.add_blobs() = digest;
  return true;
}

absl::StatusOr<RuntimeSource*> JobRuntimes::Source(std::vector<std::string>& warnings) {
  if (!source_) {
    PLAIT_ASSIGN_OR_RETURN(source_, MakeSource(warnings));
  }
  return source_->get();
}

absl::Status JobRuntimes::Tell() {
  if (context_.replayed != nullptr) return absl::OkStatus();
  internal::ChildMessage message;
  message.mutable_blobs_written()->Swap(&untold_);
  untold_.Clear();
  return context_.connection.Send(message);
}

bool JobRuntimes::HasSeconds(double seconds) {
  const bool has_seconds = context_.replayed != nullptr ? context_.budget.HasSeconds(seconds)
                                                        : (*source_)->SecondsLeft() >= seconds;
  context_.log.AddTimeAnswer(has_seconds);
  return has_seconds;
}

absl::StatusOr<std::unique_ptr<RuntimeSource>> JobRuntimes::MakeSource(
    std::vector<std::string>& warnings) {
  if (context_.replayed != nullptr) {
    const bool has_any = !context_.replayed->runtime_measurements().empty();
    return has_any ? MakeLoggedRuntimes(*context_.replayed) : nullptr;
  }
  if (start_.runtimes().empty()) return nullptr;
  RuntimeTaskInputs inputs;
  const absl::StatusOr<bool> are_made = AddInputs(inputs);
  if (!are_made.ok() && !absl::IsUnimplemented(are_made.status())) return are_made.status();
  if (!are_made.ok() || !*are_made) {
    warnings.push_back(absl::StrCat(
        "nothing was measured in other runtimes: ",
        are_made.ok() ? "the inputs are too large" : std::string(are_made.status().message())));
    return nullptr;
  }
  PLAIT_RETURN_IF_ERROR(Tell());
  inputs.threads = ThreadsOfJob(start_.options(), start_.device().cores());
  inputs.tolerance = ToleranceOf(start_.options());
  return MakeRemoteRuntimes(start_, context_.connection, context_.clock, context_.ends_at,
                            std::move(inputs));
}

// False when they are too many bytes.
absl::StatusOr<bool> JobRuntimes::AddInputs(RuntimeTaskInputs& inputs) {
  for (const TensorId id : graph_.inputs()) {
    worker::v1::ModelInput& input = inputs.inputs.emplace_back();
    input.set_name(*graph_.tensor(id).name);
    input.set_data_type(static_cast<int>(graph_.type(id).dtype));
    for (const int64_t dim : graph_.type(id).shape) input.add_dims(dim);
  }
  for (const int index : kInputIndices) {
    PLAIT_ASSIGN_OR_RETURN(const std::vector<Tensor> values,
                           MakeInputs(graph_, start_.options().seed(), index));
    v1::InputSet& set = inputs.input_sets.emplace_back();
    for (size_t i = 0; i < values.size(); ++i) {
      v1::InputValue& value = *set.add_values();
      value.set_name(inputs.inputs[i].name());
      PLAIT_ASSIGN_OR_RETURN(const bool is_added,
                             AddModel({values[i].bytes()}, *value.mutable_blob()));
      if (!is_added) return false;
    }
  }
  for (const v1::InputSet& set : start_.options().input_sets()) inputs.input_sets.push_back(set);
  return true;
}

}  // namespace plait
