#include "runtime/kept_shapes.h"

namespace plait {

const Shape& KeptShapes::Keep(const Shape& shape) {
  const absl::MutexLock lock(&mutex_);
  const auto [kept, is_new] = shapes_.try_emplace(shape);
  if (is_new) {
    newest_.push_front(&kept->first);
    kept->second = newest_.begin();
  } else {
    newest_.splice(newest_.begin(), newest_, kept->second);
  }
  if (shapes_.size() > kKeptShapesMax) {
    shapes_.erase(*newest_.back());
    newest_.pop_back();
  }
  return kept->first;
}

size_t KeptShapes::size() const {
  const absl::MutexLock lock(&mutex_);
  return shapes_.size();
}

}  // namespace plait
