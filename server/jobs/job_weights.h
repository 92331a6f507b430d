#pragma once

#include <optional>

#include "absl/status/status.h"
#include "base/digest.h"
#include "plait/worker/v1/worker.pb.h"
#include "storage/blob_store.h"

namespace plait {

// The table of weights that a job's child writes (Task.weights), as a blob for the workers. The
// daemon does not read it. Granted to no tenant: a worker may read what its task names.
//
// Nothing durable names it: each run of the job makes the same table again. While a run lasts it is
// noted as in use again and again, so that it is not collected. Not thread-safe.
class JobWeights {
 public:
  // What is passed must outlive the object; `file` is where the child writes the table.
  JobWeights(BlobStore& blobs, int file) : blobs_(blobs), file_(file) {}

  // Stores what the child has written.
  // Errors: InvalidArgument for a second table, an empty one, or one that changes meanwhile, which
  // are the child's fault; those of the storage.
  absl::Status Store();

  // Does nothing while there is no table.
  void NoteUse();

  // Names the model with its table in a task. Without a table no weight can be found in a model,
  // and neither is named.
  void NameIn(const v1::Digest& model, worker::v1::Task& task) const;

 private:
  BlobStore& blobs_;
  const int file_;
  std::optional<Digest> table_;
};

}  // namespace plait
