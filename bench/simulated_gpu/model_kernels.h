#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gpu_worker/backends/cuda/generated/kernel.h"
#include "gpu_worker/backends/cuda/problem/candidate.h"
#include "gpu_worker/backends/cuda/problem/problem.h"
#include "optimizer/ir/graph.h"
#include "optimizer/kernels/kernel.h"

namespace plait {

// A generated kernel that a plan of a model may run, and what it is for.
struct ModelKernel {
  const cuda::GeneratedFamily* family = nullptr;
  cuda::Problem problem;
  cuda::KernelForm form;
  // Of the operands wherever it runs, at least; more than the form's where operands differ.
  cuda::OperandAlignment alignment;
  cuda::GeneratedKernel kernel;
};

// The generated kernels of models, each text of a precision once: what the plans for the described
// device h200 have, the baseline and the fused ones, and then whatever else is offered for the
// model or for what one rewrite makes of it, which a search asks a worker for. Of each step as it
// runs, with the pitches and the alignment of operands that are parts of others; and all with dense
// operands of their own. Not thread-safe.
class ModelKernels {
 public:
  explicit ModelKernels(std::vector<cuda::Precision> precisions)
      : precisions_(std::move(precisions)) {}

  // Errors: those of import, Bind, planning and rules; of a step that the backend has no problem
  // for.
  absl::Status AddModel(const std::string& path);

  // In order of the models and their plans.
  const std::vector<ModelKernel>& kernels() const { return kernels_; }

 private:
  absl::Status AddOffered(const Graph& graph);
  void AddKernel(const Graph& graph, const Kernel& kernel);
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
