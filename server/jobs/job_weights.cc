#include "server/jobs/job_weights.h"

#include "base/status_macros.h"
#include "proto/wire/digest.h"
#include "server/jobs/job_artifacts.h"

namespace plait {

absl::Status JobWeights::Store() {
  // The tasks that are open name the first one.
  if (table_) return absl::InvalidArgumentError("the search child wrote two tables of weights");
  PLAIT_ASSIGN_OR_RETURN(table_, StoreFile(blobs_, file_));
  return absl::OkStatus();
}

void JobWeights::NoteUse() {
  if (table_) blobs_.Find(*table_).status().IgnoreError();
}

void JobWeights::NameIn(const v1::Digest& model, worker::v1::Task& task) const {
  if (!table_) return;
  *task.mutable_model() = model;
  *task.mutable_weights() = wire::DigestToProto(*table_);
}

}  // namespace plait
