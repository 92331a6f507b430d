#include "gpu_worker/backends/cuda/cudnn/descriptor.h"

#include <utility>

namespace plait::cuda {

CudnnDescriptor::CudnnDescriptor(const CudnnLibrary& library, cudnnBackendDescriptorType_t type,
                                 std::string what)
    : library_(&library), what_(std::move(what)) {
  status_ = library_->Check(library_->create_descriptor(type, &descriptor_), what_ + ": create");
}

CudnnDescriptor::CudnnDescriptor(CudnnDescriptor&& other) noexcept
    : library_(other.library_),
      descriptor_(std::exchange(other.descriptor_, nullptr)),
      what_(std::move(other.what_)),
      status_(std::move(other.status_)) {}

CudnnDescriptor& CudnnDescriptor::operator=(CudnnDescriptor&& other) noexcept {
  std::swap(library_, other.library_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(what_, other.what_);
  std::swap(status_, other.status_);
  return *this;
}

// A moved-from descriptor has nothing to destroy; a failed destruction has no one to tell.
CudnnDescriptor::~CudnnDescriptor() {
  if (descriptor_ != nullptr) library_->destroy_descriptor(descriptor_);
}

// After an error the rest is skipped: what comes later would only hide the first message.
void CudnnDescriptor::Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                          int64_t count, const void* values) {
  if (!status_.ok()) return;
  status_ = library_->Check(library_->set_attribute(descriptor_, name, type, count, values),
                            what_ + ": attribute " + std::to_string(name));
}

void CudnnDescriptor::SetSizes(cudnnBackendAttributeName_t name,
                               const std::vector<int64_t>& values) {
  Set(name, CUDNN_TYPE_INT64, static_cast<int64_t>(values.size()), values.data());
}

void CudnnDescriptor::SetDescriptor(cudnnBackendAttributeName_t name,
                                    const CudnnDescriptor& descriptor) {
  // A chain of descriptors is thus checked once, at its end.
  if (status_.ok()) status_ = descriptor.status();
  Set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, descriptor.get());
}

// Checks what was set as a whole, and is where cuDNN refuses most.
Status CudnnDescriptor::Finalize() {
  if (status_.ok()) {
    status_ = library_->Check(library_->finalize(descriptor_), what_ + ": finalize");
  }
  return status_;
}

Result<int64_t> CudnnDescriptor::Get(cudnnBackendAttributeName_t name,
                                     cudnnBackendAttributeType_t type, int64_t count,
                                     void* values) const {
  PLAIT_CUDA_RETURN_IF_ERROR(status_);
  int64_t available = 0;
  PLAIT_CUDA_RETURN_IF_ERROR(
      library_->Check(library_->get_attribute(descriptor_, name, type, count, &available, values),
                      what_ + ": read attribute " + std::to_string(name)));
  return available;
}

}  // namespace plait::cuda
