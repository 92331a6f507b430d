#include "gpu_worker/backends/cuda/run/cuda_executable.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/cuda/offers/forms.h"
#include "gpu_worker/backends/cuda/run/check_indices.h"
#include "gpu_worker/backends/cuda/run/cuda_status.h"
#include "gpu_worker/backends/cuda/run/host_layout.h"
#include "gpu_worker/executor/check_load.h"
#include "optimizer/kernels/format_rules.h"
#include "optimizer/ops/evaluation/evaluate.h"

namespace plait::cuda {
absl::StatusOr<std::unique_ptr<Executable>> CudaExecutable::Create(const plait::Graph& graph,
                                                                   const Plan& plan,
                                                                   const WeightSource& weights,
                                                                   const DeviceParts& device) {
  auto executable = std::make_unique<CudaExecutable>(graph, plan, device);
  PLAIT_RETURN_IF_ERROR(executable->SplitSteps());
  PLAIT_RETURN_IF_ERROR(executable->ReadSteps());
  PLAIT_ASSIGN_OR_RETURN(const PartialOrder order,
                         OrderOfPlan(executable->plan_, executable->work_));
  PLAIT_RETURN_IF_ERROR(executable->ChooseImplementations());
  PLAIT_RETURN_IF_ERROR(executable->PlaceValues(order));
  PLAIT_RETURN_IF_ERROR(executable->PlaceOutputs(weights));
  PLAIT_RETURN_IF_ERROR(executable->BindOperands(weights));
  PLAIT_RETURN_IF_ERROR(executable->KeepHostConstants(weights));
  PLAIT_RETURN_IF_ERROR(executable->BuildSegments());
  return executable;
}

CudaExecutable::~CudaExecutable() {
  static_cast<void>(device_.runtime->Synchronize(device_.stream).ok());
}

absl::Status CudaExecutable::SetInputs(absl::Span<const Tensor> inputs) {
  PLAIT_RETURN_IF_ERROR(CheckInputs(graph_, inputs));
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (const Port& place : inputs_[i]) {
      const std::string bytes =
          Reformat(inputs[i].bytes(), inputs[i].type(), Format::kPlain, place.format);
      PLAIT_RETURN_IF_ERROR(ToStatus(
          device_.staging->Upload(place.data, bytes.data(), bytes.size(), device_.stream)));
    }
  }
  return absl::OkStatus();
}

absl::Status CudaExecutable::Enqueue() {
  for (const PlanSegment& segment : segments_) {
    if (segment.graph.has_value()) {
      PLAIT_RETURN_IF_ERROR(ToStatus(segment.graph->Launch(device_.stream)));
    } else {
      PLAIT_RETURN_IF_ERROR(Annotate(RunOnHost(plan_.steps[segment.host_step]),
                                     absl::StrCat("step ", segment.host_step)));
    }
  }
  return absl::OkStatus();
}

CudaExecutable::Port CudaExecutable::PortOf(int value) const {
  return {places_[value], plan_.values[value].format, PitchOf(graph_, plan_, value)};
}

// What lies between the pixels of a part may not have been written yet, so that it is not read.
// Few parts are downloaded: outputs are row-major, and there have none.
absl::StatusOr<Tensor> CudaExecutable::Download(const TensorType& type, const Port& place) {
  const TensorType stored = StoredType(type, place.format);
  std::string bytes(static_cast<size_t>(stored.bytes()), '\0');
  const auto element = static_cast<size_t>(BytesOf(stored.dtype));
  const bool is_dense = place.pitch.is_dense();
  const size_t run = is_dense ? bytes.size() : place.pitch.channels * element;
  const size_t step = is_dense ? bytes.size() : place.pitch.pitch * element;
  const std::byte* from = place.data;
  for (size_t at = 0; at < bytes.size(); at += run, from += step) {
    PLAIT_RETURN_IF_ERROR(
        ToStatus(device_.staging->Download(bytes.data() + at, from, run, device_.stream)));
  }
  return Tensor(type, Reformat(bytes, type, place.format, Format::kPlain));
}

absl::StatusOr<Tensor> CudaExecutable::ReadValue(int value) {
  return Download(graph_.type(plan_.values[value].tensor), PortOf(value));
}

absl::Status CudaExecutable::RunOnHost(const Step& step) {
  const NodeId id = step.kernel.nodes[0];
  const Node& node = graph_.node(id);
  std::vector<Tensor> values;
  values.reserve(node.inputs.size());
  std::vector<const Tensor*> pointers;
  for (const TensorId input : node.inputs) {
    if (input == kNoTensor) {
      pointers.push_back(nullptr);
      continue;
    }
    const auto constant = std::find_if(host_constants_.begin(), host_constants_.end(),
                                       [&](const auto& entry) { return entry.first == input; });
    if (constant != host_constants_.end()) {
      pointers.push_back(&constant->second);
      continue;
    }
    PLAIT_ASSIGN_OR_RETURN(Tensor value, ReadValue(InputValueOf(plan_, step, input)));
    values.push_back(std::move(value));
    pointers.push_back(&values.back());
  }
  PLAIT_ASSIGN_OR_RETURN(const std::vector<Tensor> results, EvaluateNode(graph_, id, pointers));
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    for (const int value : step.outputs) {
      if (plan_.values[value].tensor != node.outputs[i]) continue;
      if (i >= results.size() || results[i].type() != graph_.type(node.outputs[i])) {
        return absl::InternalError("the node gave another type than the graph says");
      }
      PLAIT_RETURN_IF_ERROR(ToStatus(device_.staging->Upload(
          places_[value], results[i].bytes().data(), results[i].bytes().size(), device_.stream)));
    }
  }
  return absl::OkStatus();
}

// Behind the run: an index that is out of range has read another row, and its result is nobody's.
// All steps are asked, since one that is not asked would tell the next run.
absl::Status CudaExecutable::CheckAllIndices() {
  absl::Status first = absl::OkStatus();
  for (size_t step = 0; step < work_.size(); ++step) {
    if (!IsGather(work_[step])) continue;
    first.Update(Annotate(
        ToStatus(CheckIndices(device_.runtime, device_.staging, work_[step].problem.problem,
                              operands_[step], device_.stream)),
        absl::StrCat("step ", step)));
  }
  return first;
}

// Asked of a run that failed, too: a wrong index that is not asked for would fail the next run.
absl::Status CudaExecutable::EndRun(absl::Status ran) {
  ran.Update(CheckAllIndices());
  return ran;
}

absl::StatusOr<std::vector<Tensor>> CudaExecutable::Run(absl::Span<const Tensor> inputs) {
  PLAIT_RETURN_IF_ERROR(SetInputs(inputs));
  PLAIT_RETURN_IF_ERROR(EndRun(Enqueue()));
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Output& output = outputs_[i];
    if (output.place.data != nullptr) {
      PLAIT_ASSIGN_OR_RETURN(outputs.emplace_back(),
                             Download(graph_.type(graph_.outputs()[i]), output.place));
    } else {
      outputs.push_back(output.input >= 0 ? inputs[output.input] : output.constant);
    }
  }
  return outputs;
}

absl::Status CudaExecutable::RunObserved(absl::Span<const Tensor> inputs,
                                         absl::Span<const int> steps, StepObserver observe) {
  PLAIT_RETURN_IF_ERROR(SetInputs(inputs));
  return EndRun(RunSteps(steps, observe));
}

// Launches that are not captured, on one stream: the plan's order is one that every schedule of it
// allows.
absl::Status CudaExecutable::RunSteps(absl::Span<const int> steps, StepObserver observe) {
  int given = 0;
  for (int step = 0; step < static_cast<int>(plan_.steps.size()); ++step) {
    const bool begins = first_steps_[given] == step;
    if (begins && !steps.empty() && steps.front() == given) {
      std::vector<Tensor> read;
      for (const int value : given_.steps[given].inputs) {
        PLAIT_ASSIGN_OR_RETURN(read.emplace_back(), ReadValue(value));
      }
      PLAIT_RETURN_IF_ERROR(observe(given, read));
      steps.remove_prefix(1);
    }
    if (begins) ++given;
    if (work_[step].kind == StepProblem::Kind::kHost) {
      PLAIT_RETURN_IF_ERROR(RunOnHost(plan_.steps[step]));
    } else if (const auto launch = LaunchOf(static_cast<size_t>(step)); launch != nullptr) {
      PLAIT_RETURN_IF_ERROR(ToStatus(launch(device_.stream)));
    }
  }
  return absl::OkStatus();
}

int CudaExecutable::fallback_nodes() const {
  return static_cast<int>(std::count_if(work_.begin(), work_.end(), [](const StepProblem& work) {
    return work.kind == StepProblem::Kind::kHost;
  }));
}

std::vector<std::string> CudaExecutable::step_variants() const {
  std::vector<std::string> variants;
  for (size_t given = 0; given < given_.steps.size(); ++given) {
    std::vector<std::string> names;
    for (int step = first_steps_[given]; step < first_steps_[given + 1]; ++step) {
      if (candidates_[step] != nullptr) names.push_back(candidates_[step]->name());
    }
    const bool in_parts = first_steps_[given + 1] - first_steps_[given] > 1;
    variants.push_back(FormWith(given_.steps[given].kernel.variant, names, in_parts));
  }
  return variants;
}

int64_t CudaExecutable::workspace_bytes() const {
  size_t bytes = 0;
  for (const std::shared_ptr<Candidate>& candidate : candidates_) {
    if (candidate != nullptr) bytes = std::max(bytes, candidate->workspace_bytes());
  }
  return static_cast<int64_t>(bytes);
}

size_t CudaExecutable::graph_nodes() const {
  size_t nodes = 0;
  for (const PlanSegment& segment : segments_) {
    if (segment.graph.has_value()) nodes += segment.graph->nodes();
  }
  return nodes;
}

size_t CudaExecutable::graph_edges() const {
  size_t edges = 0;
  for (const PlanSegment& segment : segments_) {
    if (segment.graph.has_value()) edges += segment.graph->edges();
  }
  return edges;
}

size_t CudaExecutable::graph_count() const {
  return static_cast<size_t>(
      std::count_if(segments_.begin(), segments_.end(),
                    [](const PlanSegment& segment) { return segment.graph.has_value(); }));
}

}  // namespace plait::cuda
