#include "bench/simulated_gpu/model_kernels.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/search/described_plans.h"
#include "bench/search/described_search.h"
#include "client/kernel_list/rewritten_nodes.h"
#include "gpu_worker/backends/catalogs.h"
#include "gpu_worker/backends/cuda/offers/kernel_problem.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"
#include "gpu_worker/backends/cuda/run/step_problem.h"
#include "optimizer/cost/described_device.h"
#include "optimizer/rules/rule.h"

namespace plait {
namespace {

// A100, L40S, H200 and B200: tiles of attention are ranked by what a device has.
std::array<cuda::KernelDevice, 4> Devices() {
  return {cuda::KernelDeviceOf(8, 0, 108), cuda::KernelDeviceOf(8, 9, 142),
          cuda::KernelDeviceOf(9, 0, 132), cuda::KernelDeviceOf(10, 0, 148)};
}

// Steps are planned in fp32: an offset of so many elements is half as many bytes in 16 bits.
cuda::OperandAlignment AlignmentIn(cuda::Precision precision, cuda::OperandAlignment alignment) {
  if (precision != cuda::Precision::kFp16 && precision != cuda::Precision::kBf16) return alignment;
  for (int64_t* bytes : {&alignment.inputs, &alignment.weights, &alignment.bias,
                         &alignment.residual, &alignment.outputs}) {
    if (*bytes < cuda::kDeviceAlignmentBytes) *bytes /= 2;
  }
  return alignment;
}

void KeepLeast(const cuda::OperandAlignment& other, cuda::OperandAlignment* alignment) {
  alignment->inputs = std::min(alignment->inputs, other.inputs);
  alignment->weights = std::min(alignment->weights, other.weights);
  alignment->bias = std::min(alignment->bias, other.bias);
  alignment->residual = std::min(alignment->residual, other.residual);
  alignment->outputs = std::min(alignment->outputs, other.outputs);
}

void AppendPitch(const char* name, const cuda::PixelPitch& pitch, std::string* text) {
  if (pitch.is_dense()) return;
  absl::StrAppend(text, text->empty() ? "" : ", ", name, " ", pitch.channels, " of ", pitch.pitch);
}

}  // namespace

absl::Status ModelKernels::AddModel(const std::string& path) {
  PLAIT_ASSIGN_OR_RETURN(const Graph graph, NormalFormOf(path));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<Plan> plans, PlansOnDescribed(graph, kH200Device));
  for (const Plan& plan : plans) {
    for (const Step& step : plan.steps) {
      PLAIT_ASSIGN_OR_RETURN(const cuda::StepProblem runs, cuda::StepProblemOf(graph, plan, step));
      if (runs.kind == cuda::StepProblem::Kind::kLaunch) {
        AddProblem(runs.problem.problem, runs.problem.layout, runs.places);
      }
      if (!step.kernel.nodes.empty()) AddKernel(graph, step.kernel);
    }
  }
  return AddOffered(graph);
}

absl::Status ModelKernels::AddOffered(const Graph& graph) {
  PLAIT_ASSIGN_OR_RETURN(const std::unique_ptr<KernelCatalog> catalog,
                         CatalogFor(DescriptionOf(kH200Device)));
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    for (const Kernel& kernel : catalog->KernelsAt(graph, node, /*fuse=*/true)) {
      AddKernel(graph, kernel);
    }
  }
  return VisitRewritten(
      graph, AllRules(), [&](const Graph& rewritten, absl::Span<const NodeId> changed) {
        VisitChangedKernels(rewritten, changed, *catalog,
                            [&](const Kernel& kernel) { AddKernel(rewritten, kernel); });
      });
}

void ModelKernels::AddKernel(const Graph& graph, const Kernel& kernel) {
  const std::optional<cuda::KernelProblem> problem = cuda::ProblemOfKernel(graph, kernel);
  if (!problem.has_value() || !cuda::ShapeOf(problem->problem).ok()) return;
  AddProblem(problem->problem, problem->layout, {});
}

void ModelKernels::AddProblem(const cuda::Problem& problem, cuda::MemoryLayout layout,
                              const cuda::OperandPlaces& places) {
  for (const cuda::Precision precision : precisions_) {
    const cuda::OperandAlignment alignment = AlignmentIn(precision, places.alignment);
    // The widest vector has 16 bytes: more changes no kernel.
    const int64_t vector_bytes = std::min<int64_t>(alignment.least(), 16);
    for (const cuda::KernelDevice& device : Devices()) {
      AddForm(problem, {precision, layout, vector_bytes, places.pitches, device}, alignment);
    }
  }
}

void ModelKernels::AddForm(const cuda::Problem& problem, const cuda::KernelForm& form,
                           const cuda::OperandAlignment& alignment) {
  for (const cuda::GeneratedFamily* family : cuda::GeneratedFamilies()) {
    if (!form.pitches.are_dense() && !family->takes_pitches) continue;
    if (form.precision == cuda::Precision::kTf32 && !family->rounds_to_tf32) continue;
    for (cuda::GeneratedKernel& kernel : family->list(problem, form)) {
      if (!kernel.is_listed) continue;
      const auto [known, is_new] =
          by_text_.try_emplace({form.precision, kernel.source}, kernels_.size());
      if (is_new) {
        kernels_.push_back({family, problem, form, alignment, std::move(kernel)});
      } else {
        KeepLeast(alignment, &kernels_[known->second].alignment);
      }
    }
  }
}

int ThreadsOf(const cuda::GeneratedKernel& kernel) {
  return static_cast<int>(kernel.block[0] * kernel.block[1] * kernel.block[2]);
}

std::string PlacesName(const cuda::KernelForm& form) {
  std::string text;
  for (const cuda::PixelPitch& pitch : form.pitches.inputs) AppendPitch("input", pitch, &text);
  for (const cuda::PixelPitch& pitch : form.pitches.outputs) AppendPitch("output", pitch, &text);
  AppendPitch("residual", form.pitches.residual, &text);
  if (form.alignment_bytes < 16) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", "aligned to ", form.alignment_bytes);
  }
  return text;
}

}  // namespace plait
