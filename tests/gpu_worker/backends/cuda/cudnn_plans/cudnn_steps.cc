#include "tests/gpu_worker/backends/cuda/cudnn_plans/cudnn_steps.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/cuda/cublaslt/product.h"
#include "gpu_worker/backends/cuda/cudnn/library.h"
#include "gpu_worker/backends/cuda/cudnn/patterns.h"
#include "gpu_worker/backends/cuda/offers/cuda_catalog.h"
#include "gpu_worker/backends/cuda/offers/forms.h"
#include "gpu_worker/backends/cuda/run/prepare_candidates.h"
#include "gpu_worker/backends/cuda/run/split_steps.h"
#include "gpu_worker/executor/one_kernel_plan.h"
#include "gpu_worker/simulated_gpu/cudnn/real_library.h"
#include "optimizer/kernels/kernel_key.h"
#include "optimizer/kernels/lone_kernel.h"

namespace plait {
namespace {

using Candidates = std::vector<std::unique_ptr<cuda::Candidate>>;

// cuBLASLt says nothing without a device, but which problems are a call of it is known.
bool IsCublasLts(const cuda::StepProblem& step) {
  return cuda::DescribeProduct(step.problem.problem, step.problem.precision, step.problem.layout,
                               step.places.pitches)
      .has_value();
}

// The first way to compute it that is not cuDNN's, or nothing.
std::string OtherWay(const cuda::StepProblem& step,
                     const std::vector<cuda::SourceAnswer>& answers) {
  if (IsCublasLts(step)) return "cublaslt";
  for (const cuda::SourceAnswer& answer : answers) {
    if (absl::string_view(answer.source->name) == "cudnn" || !answer.candidates.ok()) continue;
    const Candidates& candidates = answer.candidates.value();
    if (!candidates.empty()) return candidates[0]->name();
  }
  return "";
}

void Finalise(const Candidates& candidates, Engines engines, int runtime_compiled_max,
              CudnnAnswer* answer) {
  const auto finalise = [&](cuda::Candidate& candidate, int* count) {
    const cuda::Status prepared = candidate.Prepare();
    if (prepared.ok()) {
      ++*count;
      return;
    }
    ++answer->refused;
    if (answer->reason.empty()) answer->reason = prepared.error().message;
  };
  for (const auto& candidate : candidates) {
    if (answer->has_plan() && engines == Engines::kFirst) return;
    if (!cuda::IsRuntimeCompiled(*candidate)) finalise(*candidate, &answer->precompiled);
  }
  for (const auto& candidate : candidates) {
    if (answer->has_plan() || runtime_compiled_max == 0) return;
    if (!cuda::IsRuntimeCompiled(*candidate)) continue;
    --runtime_compiled_max;
    finalise(*candidate, &answer->runtime_compiled);
  }
}

std::string NameOf(const Graph& graph, const Kernel& kernel) {
  std::string name = kernel.nodes.empty() ? "reorder" : "";
  for (const NodeId node : kernel.nodes) {
    absl::StrAppend(&name, name.empty() ? "" : "+", OpKindName(graph.node(node).op));
  }
  const std::vector<TensorId> inputs = InputsOf(graph, kernel.nodes);
  for (size_t i = 0; i < inputs.size(); ++i) {
    absl::StrAppend(&name, " ", graph.type(inputs[i]).ToString(), " in ",
                    FormatName(kernel.input_formats[i]));
  }
  return name;
}

cuda::CudaCatalog CatalogIn(cuda::Precision precision) {
  return cuda::CudaCatalog({.tf32 = precision == cuda::Precision::kTf32,
                            .fp16 = precision == cuda::Precision::kFp16,
                            .bf16 = precision == cuda::Precision::kBf16});
}

// The form in 16 bits that is offered for the nodes of a kernel.
std::optional<Kernel> OfferedIn16Bits(cuda::Precision precision, const Graph& graph,
                                      const Kernel& kernel) {
  if (kernel.nodes.empty()) return std::nullopt;
  const cuda::CudaCatalog catalog = CatalogIn(precision);
  for (Kernel& offered : catalog.KernelsAt(graph, kernel.nodes[0], /*fuse=*/true)) {
    const bool is_it = offered.family == kernel.family && offered.nodes == kernel.nodes &&
                       offered.variant == cuda::FormOf(precision);
    if (is_it) return std::move(offered);
  }
  return std::nullopt;
}

}  // namespace

absl::Status UseRealCudnn() {
  simulated_gpu::UseDriverForEngineLists(PLAIT_FAKE_LIBCUDA);
  const cuda::CudnnLibrary* const library = simulated_gpu::RealCudnn();
  if (library == nullptr) return absl::UnavailableError("this machine has no cuDNN");
  cuda::CudnnLibrary::Use(library);
  return absl::OkStatus();
}

bool HasCudnnPattern(const cuda::StepProblem& step) {
  return cuda::BuildCudnnGraph(step.problem.problem, step.problem.precision, step.problem.layout,
                               step.places.pitches)
      .has_value();
}

CudnnAnswer AskCudnn(const cuda::StepProblem& step, const cuda::CudaDevice& device,
                     Engines engines) {
  CudnnAnswer result;
  const std::vector<cuda::SourceAnswer> answers = cuda::AskSources(step, device, true);
  for (const cuda::SourceAnswer& answer : answers) {
    if (absl::string_view(answer.source->name) != "cudnn") continue;
    if (!answer.candidates.ok()) {
      result.reason = answer.candidates.error().message;
      continue;
    }
    const Candidates& candidates = answer.candidates.value();
    Finalise(candidates, engines, cuda::RuntimeCompiledMax(step.problem.problem), &result);
    if (candidates.empty()) result.reason = "cuDNN lists no engine";
  }
  if (result.has_plan()) return result;
  if (result.reason.empty()) result.reason = "no worker waits for engines that cuDNN would compile";
  result.instead = OtherWay(step, answers);
  return result;
}

bool IsComputedWhole(const cuda::StepProblem& step, const cuda::CudaDevice& device) {
  if (IsCublasLts(step)) return true;
  const std::vector<cuda::SourceAnswer> answers =
      cuda::AskSources(step, device, /*has_libraries=*/true);
  return std::any_of(answers.begin(), answers.end(), [](const cuda::SourceAnswer& answer) {
    return answer.candidates.ok() && !answer.candidates.value().empty();
  });
}

bool AreAlike(const cuda::StepProblem& one, const cuda::StepProblem& other) {
  return one.problem.problem == other.problem.problem &&
         one.problem.precision == other.problem.precision &&
         one.problem.layout == other.problem.layout && one.places == other.places;
}

bool PlanLaunches::CanCompute(const cuda::StepProblem& step) {
  const auto known = std::find_if(answers_.begin(), answers_.end(),
                                  [&](const auto& answer) { return AreAlike(answer.first, step); });
  if (known != answers_.end()) return known->second;
  const bool can_compute = IsComputedWhole(step, device_);
  answers_.emplace_back(step, can_compute);
  return can_compute;
}

absl::Status PlanLaunches::AddWhole(const Graph& graph, const Plan& plan) {
  const auto can_compute = [&](const Step& step) {
    const absl::StatusOr<cuda::StepProblem> work = cuda::StepProblemOf(graph, plan, step);
    if (!work.ok() || work->kind != cuda::StepProblem::Kind::kLaunch || CanCompute(*work)) {
      return true;
    }
    split_.push_back(NameOf(graph, step.kernel));
    return false;
  };
  PLAIT_ASSIGN_OR_RETURN(const cuda::SplitPlan split, cuda::SplitSteps(graph, plan, can_compute));
  for (const Step& step : split.plan.steps) {
    PLAIT_ASSIGN_OR_RETURN(cuda::StepProblem work, cuda::StepProblemOf(graph, split.plan, step));
    const bool is_ours =
        work.kind == cuda::StepProblem::Kind::kLaunch && work.problem.precision == precision_;
    if (is_ours) steps_.push_back({std::move(work), NameOf(graph, step.kernel)});
  }
  return absl::OkStatus();
}

absl::Status PlanLaunches::Add(const Graph& graph, const Plan& plan) {
  if (cuda::IsOf16Bits(precision_)) {
    for (const Step& step : plan.steps) {
      const std::optional<Kernel> kernel = OfferedIn16Bits(precision_, graph, step.kernel);
      if (!kernel.has_value()) continue;
      PLAIT_ASSIGN_OR_RETURN(const LoneKernel lone,
                             LoneKernelOf(KernelProfileKey(graph, *kernel, {"cuda", "1"})));
      PLAIT_ASSIGN_OR_RETURN(const Plan alone, OneKernelPlan(lone.graph, lone.kernel));
      PLAIT_RETURN_IF_ERROR(AddWhole(lone.graph, alone));
    }
    return absl::OkStatus();
  }
  Plan in_precision = plan;
  const cuda::CudaCatalog catalog = CatalogIn(precision_);
  for (Step& step : in_precision.steps) {
    const std::optional<std::string> less_exact = catalog.LessExact(step.kernel);
    if (less_exact.has_value()) step.kernel.variant = *less_exact;
  }
  return AddWhole(graph, in_precision);
}

}  // namespace plait
