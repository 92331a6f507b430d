#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <cudnn.h>

#include "gpu_worker/backends/cuda/cudnn/library.h"
#include "gpu_worker/backends/cuda/driver/result.h"

namespace plait::cuda {

// Owns one descriptor of cuDNN's backend interface. The first error of Set or Finalize sticks and
// is returned by status(), so that a descriptor can be filled without a check behind each line.
// Movable; not thread-safe.
class CudnnDescriptor {
 public:
  CudnnDescriptor(const CudnnLibrary& library, cudnnBackendDescriptorType_t type, std::string what);
  CudnnDescriptor(CudnnDescriptor&& other) noexcept;
  CudnnDescriptor& operator=(CudnnDescriptor&& other) noexcept;
  ~CudnnDescriptor();

  void Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
           const void* values);
  // One value of an enumeration, a number, or a pointer.
  template <class Value>
  void Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, Value value) {
    Set(name, type, 1, &value);
  }
  void SetSizes(cudnnBackendAttributeName_t name, const std::vector<int64_t>& values);
  void SetDescriptor(cudnnBackendAttributeName_t name, const CudnnDescriptor& descriptor);

  // No attribute can be set afterwards. Errors: those of CudnnLibrary::Check.
  Status Finalize();

  // Fills `values`, of which there is room for `count`, and returns how many there are in all.
  Result<int64_t> Get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                      int64_t count, void* values) const;

  const Status& status() const { return status_; }
  cudnnBackendDescriptor_t get() const { return descriptor_; }

 private:
  const CudnnLibrary* library_;
  cudnnBackendDescriptor_t descriptor_ = nullptr;
  std::string what_;
  Status status_ = Ok();
};

}  // namespace plait::cuda
