#include "gpu_worker/simulated_gpu/cudnn/descriptor.h"

namespace plait::simulated_gpu {

std::vector<int64_t> Descriptor::Sizes(cudnnBackendAttributeName_t name) const {
  const auto found = values.find(name);
  if (found == values.end()) return {};
  std::vector<int64_t> sizes(static_cast<size_t>(found->second.count));
  std::memcpy(sizes.data(), found->second.bytes.data(), found->second.bytes.size());
  return sizes;
}

std::shared_ptr<Descriptor> Descriptor::Part(cudnnBackendAttributeName_t name) const {
  const auto found = values.find(name);
  return found == values.end() ? nullptr : found->second.parts.at(0);
}

bool IsWhole(const Descriptor& descriptor) {
  if (descriptor.is_destroyed) return false;
  if (descriptor.configured != nullptr && !IsWhole(*descriptor.configured)) return false;
  for (const auto& [name, value] : descriptor.values) {
    for (const std::shared_ptr<Descriptor>& part : value.parts) {
      if (!IsWhole(*part)) return false;
    }
  }
  return true;
}

}  // namespace plait::simulated_gpu
