#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gpu_worker/backends/cuda/generated/kernel.h"
#include "gpu_worker/backends/cuda/problem/candidate.h"
#include "gpu_worker/backends/cuda/problem/problem.h"

namespace plait {

// A generated kernel that a model's plan may run, and what it is for.
struct ModelKernel {
  const cuda::GeneratedFamily* family = nullptr;
  cuda::Problem problem;
  cuda::KernelForm form;
  // Of the operands wherever it runs, at least; more than the form's where operands differ.
  cuda::OperandAlignment alignment;
  cuda::GeneratedKernel kernel;
};

// The generated kernels of models, each text of a precision once: what the plans for the described
// device h200 have, the baseline and the fused ones. Of each step as it runs, with the pitches and
// the alignment of operands that are parts of others, and with dense operands of their own, as
// other plans have them. Not thread-safe.
class ModelKernels {
 public:
  explicit ModelKernels(std::vector<cuda::Precision> precisions)
      : precisions_(std::move(precisions)) {}

  // Errors: those of import, Bind and the search; of a step that the backend has no problem for.
  absl::Status AddModel(const std::string& path);

  // In order of the models and their plans.
  const std::vector<ModelKernel>& kernels() const { return kernels_; }

 private:
  void AddProblem(const cuda::Problem& problem, cuda::MemoryLayout layout,
                  const cuda::OperandPlaces& places);
  void AddForm(const cuda::Problem& problem, const cuda::KernelForm& form,
               const cuda::OperandAlignment& alignment);

  std::vector<cuda::Precision> precisions_;
  std::vector<ModelKernel> kernels_;
  std::map<std::pair<cuda::Precision, std::string>, size_t> by_text_;  // place in kernels_
};

// Threads of a block.
int ThreadsOf(const cuda::GeneratedKernel& kernel);

// Such as "input 12 of 44, aligned to 4": where its operands lie; empty where they are dense and
// aligned for the widest vectors.
std::string PlacesName(const cuda::KernelForm& form);

}  // namespace plait
