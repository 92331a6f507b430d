#pragma once

#include <cstddef>
#include <list>
#include <map>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "optimizer/ir/tensor_type.h"

namespace plait {

// 1024: what a session keeps of shapes that a program asks for is bounded, as these may follow from
// what its users send; and no program has as many descriptions in hand at once.
inline constexpr size_t kKeptShapesMax = 1024;

// Dimensions that a session has given away. Each list of them is there once, at a place that stays
// until kKeptShapesMax others have been asked for since. Thread-safe.
class KeptShapes {
 public:
  // The same dimensions at that place.
  const Shape& Keep(const Shape& shape);

  size_t size() const;

 private:
  using Newest = std::list<const Shape*>;

  mutable absl::Mutex mutex_;
  std::map<Shape, Newest::iterator> shapes_ ABSL_GUARDED_BY(mutex_);
  Newest newest_ ABSL_GUARDED_BY(mutex_);  // keys of the map, the last one asked for first
};

}  // namespace plait
