#include "gpu_worker/backends/cpu/run/cpu_executable.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"
#include "gpu_worker/backends/cpu/team/team.h"
#include "gpu_worker/executor/check_load.h"
#include "gpu_worker/executor/stopwatch.h"
#include "optimizer/kernels/format_rules.h"

namespace plait {
namespace {

void CopyBytes(absl::Span<const BoundCopy> copies, int threads) {
  // 16 KiB: half of a first cache, and less than a microsecond.
  constexpr int64_t kPieceBytes = 16384;
  for (const BoundCopy& copy : copies) {
    const int64_t pieces = (copy.bytes + kPieceBytes - 1) / kPieceBytes;
    ForEachPart(threads, pieces, [&](int64_t begin, int64_t end, int /*thread*/) {
      const int64_t first = begin * kPieceBytes;
      std::memcpy(copy.to + first, copy.from + first,
                  static_cast<size_t>(std::min(end * kPieceBytes, copy.bytes) - first));
    });
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Executable>> CpuExecutable::Create(const Graph& graph,
                                                                  const Plan& plan,
                                                                  const WeightSource& weights,
                                                                  const Shared& shared) {
  if (plan.threads > shared.team->threads()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the plan is for ", plan.threads, " threads, and there are ", shared.team->threads()));
  }
  PLAIT_RETURN_IF_ERROR(CheckStoredWhole(plan, graph));
  auto executable = std::make_unique<CpuExecutable>(graph, shared);
  executable->threads_ = plan.threads;
  PLAIT_RETURN_IF_ERROR(executable->ReserveMemory(plan));
  PLAIT_RETURN_IF_ERROR(executable->PlaceValues(plan));
  PLAIT_RETURN_IF_ERROR(executable->PlaceOutputs(plan, weights));
  PLAIT_RETURN_IF_ERROR(executable->LoadSteps(plan, weights));
  executable->segments_ = MakeSegments(plan);
  return executable;
}

Operand CpuExecutable::OperandOf(const Plan& plan, int value) const {
  const Value& place = plan.values[value];
  Operand operand{graph_.type(place.tensor), place.format, places_[value]};
  if (place.first_channel >= 0) {
    operand.whole_channels = graph_.type(plan.values[place.alias_of].tensor).shape[1];
  }
  return operand;
}

// Families that take no parts never see one, whatever the plan says.
absl::Status CpuExecutable::AddPlaces(const Plan& plan, const Step& step, const FamilyOffer& family,
                                      LoadContext* context) const {
  const auto add = [&](absl::Span<const int> values, bool may_be_parts) {
    for (const int value : values) {
      if (plan.values[value].first_channel >= 0 && !may_be_parts) return context->Refuse();
      context->AddPlace({plan.values[value].tensor, OperandOf(plan, value)});
    }
    return absl::OkStatus();
  };
  PLAIT_RETURN_IF_ERROR(add(step.inputs, family.reads_parts));
  return add(step.outputs, family.writes_parts);
}

// In execution order, as weights are to lie in memory in the order in which they are read. Threads
// are taken step by step, so that others who share the team run in between. A step
// takes the scratch memory of its lane: lanes of another width never run beside it.
absl::Status CpuExecutable::LoadSteps(const Plan& plan, const WeightSource& weights) {
  std::vector<int64_t> scratch_bytes(scratch_.size());
  PLAIT_ASSIGN_OR_RETURN(MemoryRegion loading,
                         MemoryRegion::Reserve(weights_.size_bytes(), shared_.guard));
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    const std::string where = absl::StrCat("step ", i);
    const KernelFamily* const family = FindKernelFamily(step.kernel.family);
    if (family == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(where, ": the cpu backend has no kernel family \"", step.kernel.family,
                       "\" (there are: ", KernelFamilyNames(), ")"));
    }
    if (step.kernel.width < 1 || step.kernel.width > plan.threads) {
      return absl::InvalidArgumentError(absl::StrCat(where, ": width must be from 1 to the plan's ",
                                                     plan.threads, ", is ", step.kernel.width));
    }
    const int lane = step.stream % LaneCount(plan.threads, step.kernel.width);
    MemoryRegion* const scratch = &scratch_[lane];
    scratch->Reset();
    loading.Reset();
    SharingExecutable* const sharing = sharing_.has_value() ? &*sharing_ : nullptr;
    LoadContext context(graph_, step.kernel, weights, shared_.onednn,
                        {&weights_, scratch, &loading, sharing, shared_.shares_formats});
    PLAIT_RETURN_IF_ERROR(Annotate(AddPlaces(plan, step, family->offer, &context), where));
    std::vector<Operand>& read = step_inputs_.emplace_back();
    for (size_t input = 0; input < step.inputs.size(); ++input) {
      read.push_back(context.places()[input].operand);
    }
    step_widths_.push_back(step.kernel.width);
    const Team::Lead lead(*shared_.team, step.kernel.width);
    absl::StatusOr<std::unique_ptr<CpuKernel>> kernel = family->load(&context);
    if (!kernel.ok()) return Annotate(kernel.status(), where);
    if (sharing != nullptr) sharing->Publish();
    steps_.push_back({*std::move(kernel), step.waits, std::make_unique<std::atomic<int64_t>>(0)});
    scratch_bytes[lane] = std::max(scratch_bytes[lane], scratch->used_bytes());
  }
  SettleWorkingMemory(scratch_bytes);
  return absl::OkStatus();
}

// On one thread: inputs are small beside what a network does with them.
absl::Status CpuExecutable::SetInputs(absl::Span<const Tensor> inputs) {
  PLAIT_RETURN_IF_ERROR(CheckInputs(graph_, inputs));
  for (size_t i = 0; i < inputs.size(); ++i) {
    CopyToPlaces(reinterpret_cast<std::byte*>(const_cast<char*>(inputs[i].bytes().data())),
                 inputs_[i]);
  }
  return absl::OkStatus();
}

void CpuExecutable::CopyToPlaces(std::byte* bytes, absl::Span<const Operand> places) {
  for (const Operand& place : places) {
    if (place.type.bytes() == 0) continue;
    const StridedCopy copy(BytesOf(place.type.dtype), place.type.shape,
                           {bytes, StridesOf(place.type, Format::kPlain)},
                           {place.data, place.strides()});
    copy.Run(1);
  }
}

absl::Status CpuExecutable::RunOnce() { return RunSegments(&segments_, &steps_, ++runs_); }

absl::StatusOr<std::vector<Tensor>> CpuExecutable::Run(absl::Span<const Tensor> inputs) {
  PLAIT_RETURN_IF_ERROR(SetInputs(inputs));
  {
    const Team::Lead lead(*shared_.team, threads_);
    PLAIT_RETURN_IF_ERROR(RunOnce());
  }
  std::vector<Tensor> outputs;
  for (const Operand& place : outputs_) outputs.push_back(ReadRowMajor(place));
  return outputs;
}

// A whole plan reads inputs and leaves outputs row-major; one of a lone kernel may not.
absl::StatusOr<BoundTensors> CpuExecutable::Bound() {
  BoundTensors bound;
  const auto add = [](const Operand& place, std::vector<BoundTensor>* tensors) {
    if (place.strides() != StridesOf(place.type, Format::kPlain)) {
      return absl::UnimplementedError("cpu: an input or output is not row-major in this plan");
    }
    tensors->push_back({place.type, place.data});
    return absl::OkStatus();
  };
  unread_inputs_.clear();
  for (size_t input = 0; input < inputs_.size(); ++input) {
    const TensorType& type = graph_.type(graph_.inputs()[input]);
    if (!inputs_[input].empty()) {
      PLAIT_RETURN_IF_ERROR(add(inputs_[input].front(), &bound.inputs));
      continue;
    }
    PLAIT_ASSIGN_OR_RETURN(MemoryRegion unread, MemoryRegion::Reserve(type.bytes()));
    bound.inputs.push_back({type, unread.data()});
    unread_inputs_.push_back(std::move(unread));
  }
  for (const Operand& output : outputs_) PLAIT_RETURN_IF_ERROR(add(output, &bound.outputs));
  return bound;
}

absl::Status CpuExecutable::RunBound(absl::Span<const BoundCopy> before,
                                     absl::Span<const BoundCopy> after) {
  const Team::Lead lead(*shared_.team, threads_);
  CopyBytes(before, threads_);
  // An input that several places read is bound to the first one.
  for (const std::vector<Operand>& places : inputs_) {
    if (places.size() > 1) {
      CopyToPlaces(places.front().data, absl::MakeConstSpan(places).subspan(1));
    }
  }
  PLAIT_RETURN_IF_ERROR(RunOnce());
  CopyBytes(after, threads_);
  return absl::OkStatus();
}

Tensor CpuExecutable::ReadRowMajor(const Operand& operand) {
  const TensorType& type = operand.type;
  std::string bytes(static_cast<size_t>(type.bytes()), '\0');
  if (!bytes.empty()) {
    const StridedCopy copy(
        BytesOf(type.dtype), type.shape, {operand.data, operand.strides()},
        {reinterpret_cast<std::byte*>(bytes.data()), StridesOf(type, Format::kPlain)});
    copy.Run(1);
  }
  return Tensor(type, std::move(bytes));
}

// The plan's order is one that every schedule of it allows: a step waits for earlier ones only.
absl::Status CpuExecutable::RunObserved(absl::Span<const Tensor> inputs,
                                        absl::Span<const int> steps, StepObserver observe) {
  PLAIT_RETURN_IF_ERROR(SetInputs(inputs));
  const Team::Lead lead(*shared_.team, threads_);
  for (int step = 0; step < static_cast<int>(steps_.size()); ++step) {
    if (!steps.empty() && steps.front() == step) {
      std::vector<Tensor> read;
      for (const Operand& place : step_inputs_[step]) read.push_back(ReadRowMajor(place));
      PLAIT_RETURN_IF_ERROR(observe(step, read));
      steps.remove_prefix(1);
    }
    const TeamWidthScope width(step_widths_[step]);
    PLAIT_RETURN_IF_ERROR(steps_[step].kernel->Run());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<double>> CpuExecutable::Time(int repeats) {
  std::vector<double> samples;
  samples.reserve(repeats);
  const Team::Lead lead(*shared_.team, threads_);
  for (int i = 0; i < repeats; ++i) {
    // The first kernel should not pay for waking the other threads.
    WakeMembers();
    const Stopwatch stopwatch;
    PLAIT_RETURN_IF_ERROR(RunOnce());
    samples.push_back(stopwatch.elapsed_us());
  }
  return samples;
}

absl::StatusOr<std::vector<double>> CpuExecutable::TimeSteps() {
  std::vector<double> step_us;
  step_us.reserve(steps_.size());
  const Team::Lead lead(*shared_.team, threads_);
  WakeMembers();
  for (size_t step = 0; step < steps_.size(); ++step) {
    const TeamWidthScope width(step_widths_[step]);
    const Stopwatch stopwatch;
    PLAIT_RETURN_IF_ERROR(steps_[step].kernel->Run());
    step_us.push_back(stopwatch.elapsed_us());
  }
  return step_us;
}

void CpuExecutable::EvictCaches() {
  weights_.EvictFromCaches();
  shared_.private_caches->Evict();
}

void CpuExecutable::Poison() {
  constexpr std::byte kAllBits{0xff};
  arena_.Fill(kAllBits);
  for (const MemoryRegion& scratch : scratch_) scratch.Fill(kAllBits);
}

int CpuExecutable::fallback_nodes() const {
  int nodes = 0;
  for (const LoadedStep& step : steps_) nodes += step.kernel->fallback_nodes();
  return nodes;
}

}  // namespace plait
