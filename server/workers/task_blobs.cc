#include "server/workers/task_blobs.h"

#include <algorithm>

namespace plait {

bool NamesBlob(const worker::v1::Task& task, const Digest& blob) {
  const auto is_blob = [&](const v1::Digest& named) {
    return named.sha256_hex() == blob.sha256_hex && named.size_bytes() == blob.size_bytes;
  };
  if (is_blob(task.model()) || is_blob(task.weights())) return true;
  const auto is_in = [&](const auto& input_sets) {
    return std::any_of(input_sets.begin(), input_sets.end(), [&](const v1::InputSet& set) {
      return std::any_of(set.values().begin(), set.values().end(),
                         [&](const v1::InputValue& value) { return is_blob(value.blob()); });
    });
  };
  const auto& models = task.measure_models().models();
  return is_in(task.measure().input_sets()) || is_in(task.measure_models().input_sets()) ||
         std::any_of(models.begin(), models.end(), is_blob);
}

}  // namespace plait
