#pragma once

#include <memory>
#include <mutex>
#include <string>

#include <cudnn.h>

#include "gpu_worker/simulated_gpu/cudnn/descriptor.h"
#include "gpu_worker/simulated_gpu/cudnn/graph_kernel.h"
#include "gpu_worker/simulated_gpu/driver/library_calls.h"
#include "gpu_worker/simulated_gpu/handle_table.h"

namespace plait::simulated_gpu {

struct CudnnHandle {
  int device = 0;
  CUstream stream = nullptr;
};

// What the handles of cuDNN stand for. The library's and the process's: it outlives drivers.
struct CudnnState {
  std::mutex mutex;
  HandleTable<cudnnHandle_t, CudnnHandle> handles;
  HandleTable<cudnnBackendDescriptor_t, std::shared_ptr<Descriptor>> descriptors;
};

CudnnState& TheCudnn();

// What a plan launches: a kernel that is there as long as the plan.
class CudnnPlan {
 public:
  CudnnPlan(int device, CUkernel kernel, std::shared_ptr<const GraphKernel> stand_in)
      : device_(device), kernel_(kernel), stand_in_(std::move(stand_in)) {}
  ~CudnnPlan() { UnloadStandIn(kernel_, stand_in_.get()); }
  CudnnPlan(const CudnnPlan&) = delete;
  CudnnPlan& operator=(const CudnnPlan&) = delete;

  int device() const { return device_; }
  CUkernel kernel() const { return kernel_; }
  const GraphKernel& stand_in() const { return *stand_in_; }

 private:
  const int device_;
  const CUkernel kernel_;
  const std::shared_ptr<const GraphKernel> stand_in_;
};

// The status, after its words are kept for this thread.
cudnnStatus_t RefuseCudnn(cudnnStatus_t status, const std::string& words);

// What cudnnBackendFinalize() does to each descriptor. REQUIRES: the state's mutex is held.
cudnnStatus_t FinalizeDescriptor(CudnnState* state, const std::shared_ptr<Descriptor>& descriptor);

}  // namespace plait::simulated_gpu
