#pragma once

#include <memory>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu_worker/process/mapped_blob.h"
#include "optimizer/ir/constant.h"

namespace plait {

// The weights that the candidates of a task name, where the task's table says that they lie (see
// Task.weights). Nothing of the model is parsed. Safe to read from any thread.
class TaskWeights : public WeightSource {
 public:
  // None at all.
  TaskWeights() = default;

  // Checks each range of the table and the digest of what lies there, which reads every weight
  // once. Errors: InvalidArgument, naming the weight, for a table that is wrong in anything;
  // ResourceExhausted for one that is too long.
  static absl::StatusOr<std::shared_ptr<const TaskWeights>> Create(
      std::shared_ptr<const MappedBlob> model, std::shared_ptr<const MappedBlob> table);

  // A weight that is nowhere gets seeded random values, the same for the same digest.
  // Errors: NotFound for a digest that is not in the table, and for a type of another size.
  absl::StatusOr<Tensor> Get(const Digest& digest, const TensorType& type) const override;

 private:
  // What the bytes lie in, which every tensor keeps alive.
  struct Blobs {
    std::shared_ptr<const MappedBlob> model;
    std::shared_ptr<const MappedBlob> table;
  };

  std::shared_ptr<const Blobs> blobs_;
  absl::flat_hash_map<Digest, std::optional<absl::string_view>> weights_;  // nullopt: nowhere
};

}  // namespace plait
