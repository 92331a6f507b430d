#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace plait::simulated_gpu {

// What a C interface hands out as handles. No handle is given out twice, so that one that is gone
// is known as such. Not thread-safe.
template <typename Handle, typename Object>
class HandleTable {
 public:
  Handle Add(Object object) {
    next_ += kDistance;
    const auto handle = reinterpret_cast<Handle>(next_);
    objects_.emplace(handle, std::move(object));
    return handle;
  }
  // Null for what is no handle.
  Object* Find(Handle handle) {
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : &found->second;
  }
  bool Erase(Handle handle) { return objects_.erase(handle) == 1; }
  size_t size() const { return objects_.size(); }

 private:
  // Nobody's memory begins as low.
  static constexpr uintptr_t kDistance = 64;
  uintptr_t next_ = 4096;
  std::map<Handle, Object> objects_;
};

}  // namespace plait::simulated_gpu
