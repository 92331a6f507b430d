#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "gpu_worker/backends/cuda/problem/candidate.h"
#include "gpu_worker/backends/cuda/run/step_problem.h"
#include "optimizer/plan/plan.h"

namespace plait {

// The steps of plans that the backend asks cuDNN for, and which plans of its own cuDNN builds for
// them. Not thread-safe, as cuda::CudnnLibrary is not.

// Makes cuDNN itself, whatever driver there is, the process's. Errors: Unavailable where it is
// missing.
absl::Status UseRealCudnn();

// What cuDNN makes of a step's problem.
struct CudnnAnswer {
  int precompiled = 0;       // plans that were finalised, of engines that are compiled already
  int runtime_compiled = 0;  // likewise, of those that are compiled then; counted apart
  int refused = 0;           // engines that cuDNN lists, and whose plan it did not finalise
  std::string reason;        // why there is no plan, or one of those that were refused is none
  // Where there is no plan: the first candidate of another source, or "cublaslt", which names none
  // without a device. Empty: there is none.
  std::string instead;

  bool has_plan() const { return precompiled + runtime_compiled > 0; }
  // cuDNN lists engines and finalises none, or lists none and nothing else computes it.
  bool is_failure() const { return !has_plan() && (refused > 0 || instead.empty()); }
};

// Whether the backend asks cuDNN for the step's problem. REQUIRES: it is a launch.
bool HasCudnnPattern(const cuda::StepProblem& step);

// Whether any source has a kernel that computes all of the step's problem; cuDNN, whether it lists
// an engine.
bool IsComputedWhole(const cuda::StepProblem& step, const cuda::CudaDevice& device);

// Which engines get a plan.
enum class Engines {
  kFirst,  // in cuDNN's order, until one is finalised
  kAll,
};

// Finalises plans of precompiled engines; where there is none, of the first few that are compiled
// at run time, until one is finalised. REQUIRES: HasCudnnPattern(step), UseRealCudnn() succeeded,
// and `device` is not present.
CudnnAnswer AskCudnn(const cuda::StepProblem& step, const cuda::CudaDevice& device,
                     Engines engines);

// A problem of some plans, and what to call it.
struct ListedStep {
  cuda::StepProblem problem;
  std::string name;  // the operators of its nodes, and the types and formats of what it reads
};

// The launches of plans in a precision, after steps were split as an executor does. In kStrict and
// kTf32 whole plans are taken; in 16 bits each kernel alone, and only those that the catalog offers
// in them. Kernels that have no form in the precision are left out, as are parts of split steps
// that compute in another one.
class PlanLaunches {
 public:
  PlanLaunches(cuda::Precision precision, cuda::CudaDevice device)
      : precision_(precision), device_(std::move(device)) {}

  // Errors: Unimplemented naming a node that nothing computes.
  absl::Status Add(const Graph& graph, const Plan& plan);

  const std::vector<ListedStep>& steps() const { return steps_; }
  // The names of steps that no source computes whole, and that became several.
  const std::vector<std::string>& split() const { return split_; }

 private:
  absl::Status AddWhole(const Graph& graph, const Plan& plan);
  bool CanCompute(const cuda::StepProblem& step);

  const cuda::Precision precision_;
  const cuda::CudaDevice device_;
  std::vector<ListedStep> steps_;
  std::vector<std::string> split_;
  // What sources were asked about already, which takes long.
  std::vector<std::pair<cuda::StepProblem, bool>> answers_;
};

// Whether sources answer both alike.
bool AreAlike(const cuda::StepProblem& one, const cuda::StepProblem& other);

}  // namespace plait
