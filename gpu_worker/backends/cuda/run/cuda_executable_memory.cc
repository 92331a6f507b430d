#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/cuda/offers/forms.h"
#include "gpu_worker/backends/cuda/problem/packed_weights.h"
#include "gpu_worker/backends/cuda/run/cuda_executable.h"
#include "gpu_worker/backends/cuda/run/cuda_status.h"
#include "gpu_worker/backends/cuda/run/host_layout.h"
#include "gpu_worker/backends/cuda/run/split_steps.h"
#include "optimizer/kernels/format_rules.h"
#include "optimizer/ops/evaluation/evaluate.h"

// How a plan is loaded: what its steps are, where everything lies, and the graphs of it.

namespace plait::cuda {
namespace {

// What was said of a step.
std::string StepName(const Plan& plan, size_t step) {
  const std::string& family = plan.steps[step].kernel.family;
  return absl::StrCat("step ", step, " (", family, ")");
}

bool IsGraphInput(const plait::Graph& graph, TensorId tensor) {
  return graph.tensor(tensor).producer == kNoNode && graph.tensor(tensor).constant == nullptr;
}

// Values that a step writes; the others are the caller's.
std::vector<bool> WrittenValues(const Plan& plan) {
  std::vector<bool> written(plan.values.size(), false);
  for (const Step& step : plan.steps) {
    for (const int value : step.outputs) written[value] = true;
  }
  return written;
}

}  // namespace

// What has no candidate at all is split; whatever else is wrong with a step is said when it is
// read.
absl::Status CudaExecutable::SplitSteps() {
  std::vector<StepProblem> steps;
  for (const Step& step : given_.steps) {
    if (!PartsOfForm(step.kernel.variant).empty()) continue;
    absl::StatusOr<StepProblem> work = StepProblemOf(graph_, given_, step);
    if (work.ok()) steps.push_back(*std::move(work));
  }
  device_.implementations->Anticipate(steps, {});
  const auto can_compute = [&](const Step& step) {
    if (!PartsOfForm(step.kernel.variant).empty()) return false;
    const absl::StatusOr<StepProblem> work = StepProblemOf(graph_, given_, step);
    if (!work.ok() || work->kind != StepProblem::Kind::kLaunch) return true;
    return !absl::IsUnimplemented(device_.implementations->Find(*work).status());
  };
  PLAIT_ASSIGN_OR_RETURN(SplitPlan split, cuda::SplitSteps(graph_, given_, can_compute));
  plan_ = std::move(split.plan);
  first_steps_ = std::move(split.first_steps);
  return absl::OkStatus();
}

// All that stand for one step, which may name an implementation of each.
absl::Status CudaExecutable::ReadPartsOf(size_t given) {
  const std::vector<absl::string_view> parts = PartsOfForm(given_.steps[given].kernel.variant);
  size_t launches = 0;
  for (int step = first_steps_[given]; step < first_steps_[given + 1]; ++step) {
    absl::StatusOr<StepProblem> work = StepProblemOf(graph_, plan_, plan_.steps[step]);
    if (!work.ok()) return Annotate(work.status(), StepName(plan_, step));
    work_.push_back(*std::move(work));
    if (parts.empty() || work_.back().kind != StepProblem::Kind::kLaunch) continue;
    if (launches < parts.size()) work_.back().implementation = std::string(parts[launches]);
    ++launches;
  }
  if (launches == parts.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(StepName(given_, given), ": it names ",
                                                 parts.size(), " parts and has ", launches));
}

absl::Status CudaExecutable::ReadSteps() {
  for (size_t given = 0; given < given_.steps.size(); ++given) {
    PLAIT_RETURN_IF_ERROR(ReadPartsOf(given));
  }
  // The parts of split steps; the others are known.
  device_.implementations->Anticipate(work_, {});
  return absl::OkStatus();
}

absl::Status CudaExecutable::ChooseImplementations() {
  device_.implementations->Anticipate(work_, {});
  for (size_t step = 0; step < work_.size(); ++step) {
    candidates_.emplace_back();
    if (work_[step].kind != StepProblem::Kind::kLaunch) continue;
    absl::StatusOr<std::shared_ptr<Candidate>> found = device_.implementations->Find(work_[step]);
    if (!found.ok()) return Annotate(found.status(), StepName(plan_, step));
    candidates_.back() = *std::move(found);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::byte*> CudaExecutable::Allocate(int64_t bytes) {
  // At least a byte: whatever has no element still has a place.
  PLAIT_ASSIGN_OR_RETURN(
      void* const memory,
      ToStatusOr(device_.runtime->Allocate(static_cast<size_t>(std::max<int64_t>(bytes, 1)))));
  memory_.emplace_back(device_.runtime, memory);
  return static_cast<std::byte*>(memory);
}

absl::StatusOr<std::byte*> CudaExecutable::Place(absl::string_view bytes) {
  PLAIT_ASSIGN_OR_RETURN(std::byte* const place, Allocate(static_cast<int64_t>(bytes.size())));
  PLAIT_RETURN_IF_ERROR(
      ToStatus(device_.staging->Upload(place, bytes.data(), bytes.size(), device_.stream)));
  return place;
}

// In the order of values, so that an alias finds the place of the value whose bytes it shares.
absl::Status CudaExecutable::PlaceValues(const PartialOrder& order) {
  std::vector<int64_t> workspace_bytes;
  for (const std::shared_ptr<Candidate>& candidate : candidates_) {
    workspace_bytes.push_back(
        candidate == nullptr ? 0 : static_cast<int64_t>(candidate->workspace_bytes()));
  }
  ArenaPlan arena = PlanArena(graph_, plan_, order, workspace_bytes);
  workspace_offsets_bytes_ = std::move(arena.workspace_offsets_bytes);
  PLAIT_ASSIGN_OR_RETURN(arena_, Allocate(arena.bytes));
  const std::vector<bool> written = WrittenValues(plan_);
  inputs_.resize(graph_.inputs().size());
  for (size_t i = 0; i < plan_.values.size(); ++i) {
    const Value& value = plan_.values[i];
    const int64_t offset_bytes =
        OffsetOf(plan_, static_cast<int>(i)) * BytesOf(graph_.type(value.tensor).dtype);
    if (arena.value_offsets_bytes[i] >= 0) {
      places_.push_back(arena_ + arena.value_offsets_bytes[i] + offset_bytes);
    } else if (value.alias_of >= 0) {
      places_.push_back(places_[value.alias_of] + offset_bytes);
    } else {
      PLAIT_ASSIGN_OR_RETURN(places_.emplace_back(),
                             Allocate(BytesOf(graph_.type(value.tensor), value.format)));
    }
    if (written[i] || !IsGraphInput(graph_, value.tensor)) continue;
    if (value.first_channel >= 0) {
      return absl::InvalidArgumentError(absl::StrCat("value ", i, ": an input is no part"));
    }
    for (size_t input = 0; input < graph_.inputs().size(); ++input) {
      if (graph_.inputs()[input] != value.tensor) continue;
      inputs_[input].push_back({places_.back(), value.format});
    }
  }
  return absl::OkStatus();
}

// An output is the value that a step writes; row-major where there are several. An output that no
// node writes is a constant or an input, of which steps write copies only.
absl::Status CudaExecutable::PlaceOutputs(const WeightSource& weights) {
  const std::vector<bool> written = WrittenValues(plan_);
  for (const TensorId tensor : graph_.outputs()) {
    Output output;
    for (size_t i = 0; i < plan_.values.size(); ++i) {
      const Value& value = plan_.values[i];
      if (value.tensor != tensor || !written[i]) continue;
      if (graph_.tensor(tensor).producer == kNoNode) continue;
      if (output.place.data != nullptr && value.format != Format::kPlain) continue;
      output.place = PortOf(static_cast<int>(i));
    }
    if (output.place.data == nullptr) {
      if (const ConstantRef& constant = graph_.tensor(tensor).constant; constant != nullptr) {
        PLAIT_ASSIGN_OR_RETURN(output.constant, EvaluateConstant(*constant, weights));
      }
      const auto input = std::find(graph_.inputs().begin(), graph_.inputs().end(), tensor);
      if (input != graph_.inputs().end()) {
        output.input = static_cast<int>(input - graph_.inputs().begin());
      }
    }
    outputs_.push_back(std::move(output));
  }
  return absl::OkStatus();
}

// Null for an operand that the problem has not.
absl::StatusOr<const void*> CudaExecutable::OperandOf(const Step& step, const OperandValue& operand,
                                                      const WeightSource& weights) {
  if (!operand.present()) return nullptr;
  const TensorType& type =
      operand.constant != nullptr ? operand.constant->type() : graph_.type(operand.tensor);
  const int64_t offset_bytes = operand.offset * BytesOf(StoredType(type, operand.format).dtype);
  if (operand.constant == nullptr) {
    return places_[InputValueOf(plan_, step, operand.tensor)] + offset_bytes;
  }
  for (const auto& [constant, place] : constants_) {
    if (constant.first == operand.constant && constant.second == operand.format) {
      return place + offset_bytes;
    }
  }
  PLAIT_ASSIGN_OR_RETURN(const std::string bytes, PackConstant(operand, weights));
  PLAIT_ASSIGN_OR_RETURN(std::byte* const place, Place(bytes));
  constants_.push_back({{operand.constant, operand.format}, place});
  return place + offset_bytes;
}

// Depthwise weights of images in channels-last are constants, and differ in their order alone.
absl::StatusOr<const void*> CudaExecutable::PackedWeightsOf(const KernelProblem& problem,
                                                            int64_t count,
                                                            const WeightSource& weights) {
  const OperandValue& operand = problem.weights;
  const std::tuple key(operand.constant, operand.offset, operand.format);
  for (const auto& [known, place] : packed_constants_) {
    if (known == key) return place;
  }
  PLAIT_ASSIGN_OR_RETURN(const std::string bytes, PackConstant(operand, weights));
  const auto element = static_cast<size_t>(ElementBytes(problem.precision));
  const auto own = std::as_bytes(std::span(bytes))
                       .subspan(static_cast<size_t>(operand.offset) * element,
                                static_cast<size_t>(count) * element);
  const std::vector<std::byte> packed = PackWeights(problem.problem, own, element);
  PLAIT_ASSIGN_OR_RETURN(
      std::byte* const place,
      Place(std::string(reinterpret_cast<const char*>(packed.data()), packed.size())));
  packed_constants_.push_back({key, place});
  return place;
}

absl::Status CudaExecutable::BindOperands(const WeightSource& weights) {
  for (size_t i = 0; i < work_.size(); ++i) {
    Operands& operands = operands_.emplace_back();
    if (work_[i].kind != StepProblem::Kind::kLaunch) continue;
    const Step& step = plan_.steps[i];
    const KernelProblem& problem = work_[i].problem;
    for (const OperandValue& input : problem.inputs) {
      PLAIT_ASSIGN_OR_RETURN(operands.inputs.emplace_back(), OperandOf(step, input, weights));
    }
    const std::pair<const OperandValue*, const void**> others[] = {
        {&problem.weights, &operands.weights},
        {&problem.second_weights, &operands.second_weights},
        {&problem.bias, &operands.bias},
        {&problem.second_bias, &operands.second_bias},
        {&problem.residual, &operands.residual}};
    for (const auto& [operand, place] : others) {
      PLAIT_ASSIGN_OR_RETURN(*place, OperandOf(step, *operand, weights));
    }
    if (problem.layout == MemoryLayout::kNhwc && HasPackedWeights(problem.problem)) {
      PLAIT_ASSIGN_OR_RETURN(operands.packed_weights,
                             PackedWeightsOf(problem, work_[i].shape.weights, weights));
    }
    if (work_[i].output_offsets.empty()) {
      for (const int value : step.outputs) operands.outputs.push_back(places_[value]);
    }
    for (const int64_t offset : work_[i].output_offsets) {
      const int64_t element = BytesOf(graph_.type(plan_.values[step.outputs[0]].tensor).dtype);
      operands.outputs.push_back(places_[step.outputs[0]] + offset * element);
    }
    if (workspace_offsets_bytes_[i] >= 0) {
      operands.workspace = arena_ + workspace_offsets_bytes_[i];
    }
    if (IsGather(work_[i])) {
      PLAIT_ASSIGN_OR_RETURN(operands.error_word, Place(std::string(sizeof(int64_t), '\0')));
    }
  }
  return absl::OkStatus();
}

absl::Status CudaExecutable::KeepHostConstants(const WeightSource& weights) {
  for (size_t i = 0; i < work_.size(); ++i) {
    if (work_[i].kind != StepProblem::Kind::kHost) continue;
    for (const TensorId input : graph_.node(plan_.steps[i].kernel.nodes[0]).inputs) {
      if (input == kNoTensor || graph_.tensor(input).constant == nullptr) continue;
      PLAIT_ASSIGN_OR_RETURN(Tensor value,
                             EvaluateConstant(*graph_.tensor(input).constant, weights));
      host_constants_.emplace_back(input, std::move(value));
    }
  }
  return absl::OkStatus();
}

std::function<Status(Stream)> CudaExecutable::LaunchOf(size_t step) {
  if (work_[step].kind == StepProblem::Kind::kCopy) {
    const int from = plan_.steps[step].inputs[0], to = plan_.steps[step].outputs[0];
    const auto bytes =
        static_cast<size_t>(BytesOf(graph_.type(plan_.values[to].tensor), plan_.values[to].format));
    return [this, from, to, bytes](Stream stream) {
      return device_.runtime->CopyOnDevice(places_[to], places_[from], bytes, stream);
    };
  }
  if (work_[step].kind != StepProblem::Kind::kLaunch) return nullptr;
  return [this, step](Stream stream) { return candidates_[step]->Launch(operands_[step], stream); };
}

absl::Status CudaExecutable::BuildSegments() {
  std::vector<StepLaunch> launches;
  for (size_t step = 0; step < work_.size(); ++step) {
    StepLaunch& launch = launches.emplace_back();
    launch.enqueue = LaunchOf(step);
    if (candidates_[step] == nullptr) continue;
    launch.resources = candidates_[step]->resources();
    launch.waits_by_itself = candidates_[step]->waits_by_itself();
  }
  PLAIT_ASSIGN_OR_RETURN(segments_, BuildGraphs(device_.runtime, plan_, work_, launches));
  for (const PlanSegment& segment : segments_) {
    if (segment.graph.has_value()) {
      PLAIT_RETURN_IF_ERROR(ToStatus(segment.graph->Upload(device_.stream)));
    }
  }
  // Uploads of constants end here, and what they complain of is said here.
  return ToStatus(device_.runtime->Synchronize(device_.stream));
}

}  // namespace plait::cuda
