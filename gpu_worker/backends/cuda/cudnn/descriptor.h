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
// A descriptor's life is Set, Finalize, Get: cuDNN refuses another order. What it refers to is kept
// alive as long as it, by whoever builds a graph: cuDNN promises no copy.
class CudnnDescriptor {
 public:
  // `what` names it in messages. `library` is not owned. A failure to create is status()'s.
  CudnnDescriptor(const CudnnLibrary& library, cudnnBackendDescriptorType_t type, std::string what);
  CudnnDescriptor(CudnnDescriptor&& other) noexcept;
  CudnnDescriptor& operator=(CudnnDescriptor&& other) noexcept;
  ~CudnnDescriptor();

  // `values` are `count` values of the C type that belongs to `type`; cuDNN copies them.
  void Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
           const void* values);
  // One value of an enumeration, a number, or a pointer.
  template <class Value>
  void Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, Value value) {
    Set(name, type, 1, &value);
  }
  // Sizes, strides, paddings, ids: all are arrays of int64.
  void SetSizes(cudnnBackendAttributeName_t name, const std::vector<int64_t>& values);
  // An error of `descriptor` becomes this one's.
  // REQUIRES: `descriptor` is finalized.
  void SetDescriptor(cudnnBackendAttributeName_t name, const CudnnDescriptor& descriptor);

  // No attribute can be set afterwards.
  // Errors: those of CudnnLibrary::Check.
  Status Finalize();

  // Fills `values`, of which there is room for `count`, and returns how many there are in all.
  // With `count` 0 and null it only counts. Descriptors are read into existing ones of their type.
  // Errors: the first of Set() or Finalize(), if there was one; those of CudnnLibrary::Check.
  Result<int64_t> Get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                      int64_t count, void* values) const;

  // Ok until the first error.
  const Status& status() const { return status_; }
  // For attributes that take descriptors; still owned here.
  cudnnBackendDescriptor_t get() const { return descriptor_; }

 private:
  const CudnnLibrary* library_;
  cudnnBackendDescriptor_t descriptor_ = nullptr;
  std::string what_;
  Status status_ = Ok();
};

}  // namespace plait::cuda
