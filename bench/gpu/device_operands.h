#pragma once

#include <vector>

#include "bench/gpu/session.h"
#include "gpu_worker/backends/cuda/problem/candidate.h"
#include "gpu_worker/backends/cuda/problem/host_operands.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"

namespace plait::cuda {

// A problem's operands on the device, weights several times over so that a run can find them
// outside of the L2. Its memory is the session's, until that is released.
class DeviceOperands {
 public:
  // Errors: kUnavailable when the memory is not enough for one copy; kDevice.
  static Result<DeviceOperands> Upload(Session* session, const ProblemShape& shape,
                                       Precision precision, const HostOperands& host,
                                       int copies_max);

  // The operands with the weights' `copy`, modulo their number.
  const Operands& at(int copy) const { return copies_[copy % copies_.size()]; }
  int copies() const { return static_cast<int>(copies_.size()); }
  bool has_weights() const { return has_weights_; }
  void SetWorkspace(void* workspace);

  // Writes NaN all over the outputs.
  Status Poison(Session* session) const;
  // Waits, and reads the outputs back.
  Result<std::vector<std::vector<float>>> Download(Session* session) const;

 private:
  std::vector<Operands> copies_;
  std::vector<int64_t> output_elements_;
  Precision precision_ = Precision::kStrict;
  bool has_weights_ = false;
};

}  // namespace plait::cuda
