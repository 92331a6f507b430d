#include "server/workers/task_blobs.h"

namespace plait {

bool NamesBlob(const worker::v1::Task& task, const Digest& blob) {
  const auto is_blob = [&](const v1::Digest& named) {
    return named.sha256_hex() == blob.sha256_hex && named.size_bytes() == blob.size_bytes;
  };
  if (is_blob(task.model()) || is_blob(task.weights())) return true;
  for (const v1::InputSet& set : task.measure().input_sets()) {
    for (const v1::InputValue& value : set.values()) {
      if (is_blob(value.blob())) return true;
    }
  }
  return false;
}

}  // namespace plait
