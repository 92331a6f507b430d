#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <cudnn.h>

#include "gpu_worker/backends/cuda/cudnn/engines.h"
#include "gpu_worker/backends/cuda/cudnn/graph.h"
#include "gpu_worker/backends/cuda/cudnn/lower.h"
#include "gpu_worker/backends/cuda/problem/candidate.h"

namespace plait::cuda {

// What the candidates of one problem share. Immutable once built.
// Candidates hold it together, as the engine configurations refer to the lowered graph.
struct CudnnProblem {
  const CudnnLibrary* library = nullptr;
  CudnnGraph graph;
  CudnnOperationGraph lowered;
  std::optional<CudnnDescriptor> device;  // described, not present: nothing can be launched
  OperandAlignment alignment = {};
};

// Lowers `graph` for the device.
// `device.present` decides between the thread's handle and the description; never both.
// Errors: kUnsupported, kInvalid; kUnavailable when the device is said to be present and is not.
Result<std::shared_ptr<const CudnnProblem>> MakeCudnnProblem(const CudnnLibrary& library,
                                                             CudnnGraph graph,
                                                             const OperandAlignment& alignment,
                                                             const CudaDevice& device);

// One engine of cuDNN with its knobs. Prepare() takes about a millisecond, or up to some seconds
// when notes() has "runtime_compilation"; those of different candidates may run on several threads
// at once. The calling thread's cuDNN handle is used.
// Launch() may come from another thread than Prepare(); it uses that thread's handle.
class CudnnCandidate final : public Candidate {
 public:
  CudnnCandidate(std::shared_ptr<const CudnnProblem> problem, CudnnEngineConfig config);

  // "cudnn/" and the name of its engine configuration.
  std::string name() const override;
  std::vector<std::string> notes() const override;
  Status Prepare() override;
  size_t workspace_bytes() const override;
  // The plan, whose kernels go with it where they were compiled at run time.
  std::shared_ptr<const void> resources() const override { return plan_; }
  // Errors: kUnsupported where the device is only described; kInvalid when `operands` lacks a
  // tensor or the workspace; those of CudnnLibrary::Check.
  Status Launch(const Operands& operands, CUstream_st* stream) override;

 private:
  // Errors: kInvalid when `operands` lacks a tensor, or has one that is not aligned.
  Status Bind(const Operands& operands);

  // A plan is what cuDNN launches. It refers to the problem's graph: it comes behind it, and so
  // goes before it.
  struct Plan {
    std::shared_ptr<const CudnnProblem> problem;
    std::shared_ptr<const CudnnEngineConfig> config;
    CudnnDescriptor descriptor;
  };

  std::shared_ptr<const CudnnProblem> problem_;
  std::shared_ptr<const CudnnEngineConfig> config_;
  std::shared_ptr<const Plan> plan_;  // null before Prepare()
  // Tells the plan the addresses.
  std::optional<CudnnDescriptor> variant_pack_;
  std::vector<void*> bound_;  // the addresses in variant_pack_
  // What by-value tensors point to; it stays where it is while the pack is in use.
  std::vector<float> constants_;
  // Set by Prepare().
  size_t workspace_bytes_ = 0;
};

}  // namespace plait::cuda
