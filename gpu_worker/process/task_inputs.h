#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <google/protobuf/repeated_field.h>

#include "absl/status/statusor.h"
#include "gpu_worker/process/mapped_blob.h"
#include "optimizer/ir/graph.h"
#include "plait/v1/input.pb.h"

namespace plait {

// Fetches the bytes of a blob, checked against its digest. Errors are the task's.
// Called on the thread of TaskRunner::Run, and only for blobs that are not kept.
using BlobFetcher =
    std::function<absl::StatusOr<std::shared_ptr<const MappedBlob>>(const v1::Digest& digest)>;

// Inputs that a task gives, as tensors. Keeps those of the last task, because the tasks of a job
// follow each other. Not thread-safe.
//
// Names, digests and bytes are a stranger's: limits and sizes are checked before anything is
// fetched, and what is returned is of the graph's types.
class TaskInputs {
 public:
  // `fetch` must outlive it.
  explicit TaskInputs(const BlobFetcher& fetch) : fetch_(fetch) {}

  // For each set a tensor for each input of the graph, in its order.
  // Errors: OutOfRange naming the set and the input, for one that is not the graph's, has no value,
  // or a value of another size or with a boolean that is none; ResourceExhausted for more than a
  // job may have; those of fetching.
  absl::StatusOr<std::vector<std::vector<Tensor>>> Read(
      const google::protobuf::RepeatedPtrField<v1::InputSet>& sets, const Graph& graph);

 private:
  // By hash. Shared with the tensors, which look at them.
  using Blobs = std::map<std::string, std::shared_ptr<const MappedBlob>>;

  // Adds the blob to `blobs`, from the last task's if it is there.
  // Errors: those of fetching.
  absl::Status Find(const v1::Digest& blob, Blobs& blobs) const;

  const BlobFetcher& fetch_;
  Blobs kept_;  // the last task's
};

}  // namespace plait
