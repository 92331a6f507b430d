#include "gpu_worker/backends/cuda/run/step_problem.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/cuda/offers/cuda_family.h"
#include "gpu_worker/backends/cuda/offers/forms.h"
#include "gpu_worker/backends/cuda/offers/operands.h"
#include "gpu_worker/backends/cuda/run/cuda_status.h"
#include "optimizer/kernels/concat_pieces.h"
#include "optimizer/kernels/format_rules.h"
#include "optimizer/kernels/strided_view.h"
#include "optimizer/plan/check_parts.h"

namespace plait::cuda {
namespace {

absl::Status Refuse(const Step& step) {
  return absl::InvalidArgumentError(absl::StrCat("the cuda backend has no kernel ",
                                                 step.kernel.family, " \"", step.kernel.variant,
                                                 "\" for these nodes and formats"));
}

absl::Status CheckNoParts(const Plan& plan, const Step& step) {
  for (const std::vector<int>* values : {&step.inputs, &step.outputs}) {
    for (const int value : *values) {
      if (plan.values[value].first_channel < 0) continue;
      return absl::UnimplementedError(absl::StrCat("a value is a part of another one, where ",
                                                   step.kernel.family, " takes none"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<StepProblem> ViewStep(const plait::Graph& graph, const Plan& plan,
                                     const Step& step) {
  PLAIT_RETURN_IF_ERROR(CheckNoParts(plan, step));
  const plait::Kernel& kernel = step.kernel;
  if (step.inputs.size() != 1 || step.outputs.size() != 1 ||
      !KeepsBytes(graph, kernel.nodes, kernel.input_formats[0], kernel.output_formats[0])) {
    return Refuse(step);
  }
  const bool shares = RootOf(plan, step.inputs[0]) == RootOf(plan, step.outputs[0]);
  return StepProblem{.kind = shares ? StepProblem::Kind::kNothing : StepProblem::Kind::kCopy};
}

absl::StatusOr<StepProblem> HostStep(const plait::Graph& graph, const Plan& plan,
                                     const Step& step) {
  PLAIT_RETURN_IF_ERROR(CheckNoParts(plan, step));
  const auto is_plain = [&](int value) { return plan.values[value].format == Format::kPlain; };
  if (step.kernel.nodes.size() != 1 || graph.node(step.kernel.nodes[0]).op == OpKind::kOpaque ||
      !std::all_of(step.inputs.begin(), step.inputs.end(), is_plain) ||
      !std::all_of(step.outputs.begin(), step.outputs.end(), is_plain)) {
    return Refuse(step);
  }
  return StepProblem{.kind = StepProblem::Kind::kHost};
}

// The largest power of two, up to a device's own alignment, that divides an offset.
int64_t AlignmentAt(int64_t offset_bytes) {
  if (offset_bytes == 0) return kDeviceAlignmentBytes;
  return std::min(kDeviceAlignmentBytes, offset_bytes & -offset_bytes);
}

using ElementCheck = absl::FunctionRef<bool(const TensorType&, Format)>;

int64_t ElementBytesIn(const TensorType& type, Format format) {
  return BytesOf(StoredType(type, format).dtype);
}

// What a problem has the elements of an operand as. One that moves whole elements asks for no more
// than their size.
std::optional<ElementType> ElementOf(const KernelProblem& problem, bool moves,
                                     const TensorType& type, Format format) {
  const bool is_whole = IsStoredWhole(type, format) && !IsOf16Bits(problem.precision);
  return moves && is_whole ? MovedAs(type.dtype) : ElementIn(problem.precision, type, format);
}

// Checks operands against the tensors that they are, and finds how these are aligned.
class OperandCheck {
 public:
  OperandCheck(const plait::Graph& graph, const Plan& plan, const Step& step)
      : graph_(graph), plan_(plan), step_(step) {}

  // An operand of `count` elements that `reads` takes, or none where the problem has none. `pitch`
  // is null where a part of another image is none that could be read.
  absl::Status Check(const OperandValue& operand, int64_t count, ElementCheck reads,
                     int64_t* alignment, PixelPitch* pitch) const {
    if (!operand.present()) return count == 0 ? absl::OkStatus() : Refuse(step_);
    const TensorType& type =
        operand.constant != nullptr ? operand.constant->type() : graph_.type(operand.tensor);
    const int64_t elements = type.elements();
    if (!reads(type, operand.format) || operand.offset < 0 || operand.offset > elements ||
        count > elements - operand.offset) {
      return Refuse(step_);
    }
    int64_t offset = operand.offset;
    if (operand.tensor != kNoTensor) {
      const int value = InputValueOf(plan_, step_, operand.tensor);
      if (value < 0 || plan_.values[value].format != operand.format) return Refuse(step_);
      const PixelPitch lies = PitchOf(graph_, plan_, value);
      // A piece of a part, or one that is read as what it is not.
      if (!lies.is_dense() && (pitch == nullptr || offset != 0 || count != elements)) {
        return Refuse(step_);
      }
      if (!lies.is_dense()) *pitch = lies;
      offset += OffsetOf(plan_, value);
    }
    *alignment = std::min(*alignment, AlignmentAt(offset * ElementBytesIn(type, operand.format)));
    return absl::OkStatus();
  }

 private:
  const plait::Graph& graph_;
  const Plan& plan_;
  const Step& step_;
};

absl::Status CheckOperands(const plait::Graph& graph, const Plan& plan, const Step& step,
                           StepProblem* work) {
  const KernelProblem& problem = work->problem;
  const ProblemShape& shape = work->shape;
  const OperandCheck operands(graph, plan, step);
  OperandAlignment& alignment = work->places.alignment;
  OperandPitches& pitches = work->places.pitches;
  if (problem.inputs.size() != shape.inputs.size() ||
      problem.outputs.size() != shape.outputs.size() ||
      step.outputs.size() != shape.outputs.size()) {
    return Refuse(step);
  }
  const bool moves = std::holds_alternative<MovementProblem>(problem.problem);
  const bool gathers = IsGather(*work);
  for (size_t i = 0; i < shape.inputs.size(); ++i) {
    const ElementType type = InputType(problem.problem, i);
    const bool any_alike = moves && !(gathers && i == 1);
    const auto reads = [&](const TensorType& of, Format format) {
      return ElementOf(problem, any_alike, of, format) == type;
    };
    pitches.inputs.emplace_back();
    PLAIT_RETURN_IF_ERROR(operands.Check(problem.inputs[i], shape.inputs[i], reads,
                                         &alignment.inputs, &pitches.inputs.back()));
  }
  const std::tuple<const OperandValue*, int64_t, int64_t*, PixelPitch*> others[] = {
      {&problem.weights, shape.weights, &alignment.weights, nullptr},
      {&problem.second_weights, shape.second_weights, &alignment.weights, nullptr},
      {&problem.bias, shape.bias, &alignment.bias, nullptr},
      {&problem.second_bias, shape.second_bias, &alignment.bias, nullptr},
      {&problem.residual, shape.residual, &alignment.residual, &pitches.residual}};
  const auto is_float = [&](const TensorType& of, Format format) {
    return ElementIn(problem.precision, of, format) == ElementType::kFloat;
  };
  for (const auto& [operand, count, least, pitch] : others) {
    PLAIT_RETURN_IF_ERROR(operands.Check(*operand, count, is_float, least, pitch));
  }
  for (size_t i = 0; i < shape.outputs.size(); ++i) {
    const int value = step.outputs[i];
    const TensorType& type = graph.type(plan.values[value].tensor);
    const Format format = plan.values[value].format;
    const std::optional<ElementType> written = ElementOf(problem, moves, type, format);
    if (written != OutputType(problem.problem) || type.elements() != shape.outputs[i]) {
      return Refuse(step);
    }
    pitches.outputs.push_back(PitchOf(graph, plan, value));
    alignment.outputs = std::min(alignment.outputs,
                                 AlignmentAt(OffsetOf(plan, value) * ElementBytesIn(type, format)));
  }
  return absl::OkStatus();
}

// So that equal operands are told alike.
void DropDensePitches(OperandPitches* pitches) {
  for (std::vector<PixelPitch>* of : {&pitches->inputs, &pitches->outputs}) {
    while (!of->empty() && of->back().is_dense()) of->pop_back();
  }
}

// Of a Concat some of whose pieces lie in the result already: what copies the others there.
void LeaveOutPieces(const plait::Graph& graph, const Plan& plan, const Step& step,
                    StepProblem* work) {
  const std::vector<ConcatPiece> pieces = ConcatPiecesOf(graph, step.kernel);
  const std::vector<ConcatPiece> copied = CopiedPieces(plan, graph, step);
  if (pieces.size() == copied.size()) return;
  if (copied.empty()) {
    *work = {.kind = StepProblem::Kind::kNothing};
    return;
  }
  const auto whole = std::get<MovementProblem>(work->problem.problem);
  const std::vector<OperandValue> inputs = std::move(work->problem.inputs);
  const OperandPitches pitches = std::exchange(work->places.pitches, {});
  const TensorId result = plan.values[step.outputs[0]].tensor;
  const int64_t pitch =
      pitches.output(0).is_dense() ? graph.type(result).shape[1] : pitches.output(0).pitch;
  MovementProblem copy{.kind = MovementProblem::Kind::kCopy, .type = whole.type};
  work->problem.inputs.clear();
  for (size_t i = 0, next = 0; i < pieces.size() && next < copied.size(); ++i) {
    // Both are in the order of the node's inputs.
    if (pieces[i].first_channel != copied[next].first_channel) continue;
    ++next;
    copy.inputs.push_back(whole.inputs[i]);
    work->problem.inputs.push_back(inputs[i]);
    work->places.pitches.inputs.push_back(pitches.input(i));
    work->places.pitches.outputs.push_back({.channels = whole.inputs[i][1], .pitch = pitch});
    work->output_offsets.push_back(pieces[i].first_channel);
    work->places.alignment.outputs =
        std::min(work->places.alignment.outputs,
                 AlignmentAt((OffsetOf(plan, step.outputs[0]) + pieces[i].first_channel) *
                             BytesOf(graph.type(result).dtype)));
  }
  work->problem.problem = std::move(copy);
}

}  // namespace

bool IsGather(const StepProblem& step) {
  const auto* move = std::get_if<MovementProblem>(&step.problem.problem);
  return step.kind == StepProblem::Kind::kLaunch && move != nullptr &&
         move->kind == MovementProblem::Kind::kGather;
}

int InputValueOf(const Plan& plan, const Step& step, TensorId tensor) {
  for (const int value : step.inputs) {
    if (plan.values[value].tensor == tensor) return value;
  }
  return -1;
}

PixelPitch PitchOf(const plait::Graph& graph, const Plan& plan, int value) {
  const Value& part = plan.values[value];
  if (part.first_channel < 0) return {};
  const auto channels = [&](TensorId tensor) { return graph.type(tensor).shape[1]; };
  const int64_t own = channels(part.tensor);
  const int64_t all = channels(plan.values[part.alias_of].tensor);
  // One that has all of them lies as its whole does.
  return own == all ? PixelPitch() : PixelPitch{.channels = own, .pitch = all};
}

int64_t OffsetOf(const Plan& plan, int value) {
  return std::max<int64_t>(plan.values[value].first_channel, 0);
}

int RootOf(const Plan& plan, int value) {
  while (plan.values[value].alias_of >= 0) value = plan.values[value].alias_of;
  return value;
}

absl::StatusOr<StepProblem> StepProblemOf(const plait::Graph& graph, const Plan& plan,
                                          const Step& step) {
  const plait::Kernel& kernel = step.kernel;
  if (kernel.family == kViewFamily) return ViewStep(graph, plan, step);
  if (kernel.family == kHostFamily) return HostStep(graph, plan, step);
  std::optional<KernelProblem> problem;
  if (kernel.nodes.empty()) {
    const TensorId tensor = plan.values[step.inputs[0]].tensor;
    problem = ProblemOfReorder(graph.type(tensor), kernel);
    if (problem.has_value()) {
      problem->inputs = {{.tensor = tensor, .format = kernel.input_formats[0]}};
      problem->outputs = {tensor};
    }
  } else {
    problem = ProblemOfKernel(graph, kernel);
  }
  if (!problem.has_value()) return Refuse(step);
  StepProblem work{.kind = StepProblem::Kind::kLaunch,
                   .problem = *std::move(problem),
                   .implementation = std::string(ImplementationOfForm(kernel.variant)),
                   .narrow = IsNarrowForm(kernel.variant)};
  PLAIT_ASSIGN_OR_RETURN(work.shape, ToStatusOr(ShapeOf(work.problem.problem)));
  PLAIT_RETURN_IF_ERROR(CheckOperands(graph, plan, step, &work));
  DropDensePitches(&work.places.pitches);
  if (ConcatPiecesOf(graph, kernel).empty()) return work;
  LeaveOutPieces(graph, plan, step, &work);
  if (work.kind != StepProblem::Kind::kLaunch) return work;
  PLAIT_ASSIGN_OR_RETURN(work.shape, ToStatusOr(ShapeOf(work.problem.problem)));
  return work;
}

}  // namespace plait::cuda
