#include "gpu_worker/backends/cuda/run/candidate_trial.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <set>
#include <utility>

#include "gpu_worker/backends/cuda/problem/difference.h"

namespace plait::cuda {
namespace {

constexpr uint64_t kSeed = 1;
// As four of them a NaN, as two in half precision, too; as one no bool.
constexpr std::byte kUnwritten{0xff};

}  // namespace

TrialData MakeTrialData(const StepProblem& step, int64_t operations_max) {
  const KernelProblem& problem = step.problem;
  TrialData trial;
  trial.operands = MakeHostOperands(problem.problem, step.shape, problem.precision, kSeed);
  trial.reference = ComputeReference(problem.problem, step.shape, problem.layout, trial.operands,
                                     operations_max, kSeed);
  return trial;
}

Status TrialBench::Upload() {
  const HostOperands& host = trial_.operands;
  const Precision precision = step_.problem.precision;
  const OperandPitches& pitches = step_.places.pitches;
  for (size_t i = 0; i < host.inputs.size(); ++i) {
    const bool indices = i == 1 && !host.indices.empty();
    const ElementType type = InputType(step_.problem.problem, i);
    std::vector<std::byte> bytes = ToStorage(host.inputs[i], type, precision);
    if (indices) {
      bytes.resize(host.indices.size() * sizeof(int64_t));
      std::memcpy(bytes.data(), host.indices.data(), bytes.size());
    }
    bytes = Spread(bytes, pitches.input(i), ElementBytes(type, precision));
    operands_.inputs.push_back(nullptr);
    PLAIT_CUDA_RETURN_IF_ERROR(Put(bytes, &operands_.inputs.back()));
  }
  const std::pair<const std::vector<float>*, const void**> others[] = {
      {&host.weights, &operands_.weights},
      {&host.packed_weights, &operands_.packed_weights},
      {&host.second_weights, &operands_.second_weights},
      {&host.bias, &operands_.bias},
      {&host.second_bias, &operands_.second_bias}};
  for (const auto& [values, place] : others) {
    PLAIT_CUDA_RETURN_IF_ERROR(Put(ToStorage(*values, precision), place));
  }
  PLAIT_CUDA_RETURN_IF_ERROR(
      Put(Spread(ToStorage(host.residual, precision), pitches.residual, ElementBytes(precision)),
          &operands_.residual));
  for (size_t i = 0; i < step_.shape.outputs.size(); ++i) {
    const Result<void*> output = Take(OutputBytes(i));
    if (!output.ok()) return output.error();
    operands_.outputs.push_back(output.value());
  }
  if (!host.indices.empty()) {
    const void* word = nullptr;
    PLAIT_CUDA_RETURN_IF_ERROR(Put(std::vector<std::byte>(sizeof(int64_t)), &word));
    operands_.error_word = const_cast<void*>(word);
  }
  return Ok();
}

void TrialBench::TakeWorkspace(const std::vector<std::unique_ptr<Candidate>>& candidates) {
  std::set<size_t, std::greater<>> sizes;
  for (const auto& candidate : candidates) sizes.insert(candidate->workspace_bytes());
  for (const size_t bytes : sizes) {
    if (TakeWorkspace(bytes).ok()) return;
  }
}

Status TrialBench::TakeWorkspace(size_t bytes) {
  if (bytes == 0) return Ok();
  const Result<void*> memory = Take(bytes);
  if (!memory.ok()) return memory.error();
  operands_.workspace = memory.value();
  workspace_bytes_ = bytes;
  return Ok();
}

Status TrialBench::TryOut(Candidate* candidate) {
  return TryOut(candidate->name(), [&] { return candidate->Launch(operands_, device_.stream); });
}

Status TrialBench::TryOut(const Candidate& candidate, const ExecutableGraph& graph) {
  return TryOut(candidate.name() + " in a graph", [&] { return graph.Launch(device_.stream); });
}

Status TrialBench::TryOut(const std::string& name, const std::function<Status()>& run) {
  for (size_t i = 0; i < operands_.outputs.size(); ++i) {
    PLAIT_CUDA_RETURN_IF_ERROR(device_.runtime->Fill(
        operands_.outputs[i], std::to_integer<int>(kUnwritten), OutputBytes(i), device_.stream));
  }
  PLAIT_CUDA_RETURN_IF_ERROR(run());
  std::vector<std::vector<float>> outputs;
  for (size_t i = 0; i < operands_.outputs.size(); ++i) {
    std::vector<std::byte> bytes(OutputBytes(i));
    PLAIT_CUDA_RETURN_IF_ERROR(device_.staging->Download(bytes.data(), operands_.outputs[i],
                                                         bytes.size(), device_.stream));
    const PixelPitch pitch = step_.places.pitches.output(i);
    if (!GapsAre(kUnwritten, bytes, pitch, OutputElementBytes())) {
      return Error{ErrorCode::kUnsupported, name + ": writes beside its pixels"};
    }
    const std::vector<std::byte> dense = Collect(bytes, pitch, OutputElementBytes());
    outputs.push_back(FromStorage(dense.data(), static_cast<size_t>(step_.shape.outputs[i]),
                                  OutputType(step_.problem.problem), step_.problem.precision));
  }
  if (IsRight(outputs)) return Ok();
  return Error{ErrorCode::kUnsupported, name + ": wrong results"};
}

bool TrialBench::IsRight(const std::vector<std::vector<float>>& outputs) const {
  const Problem& problem = step_.problem.problem;
  if (OutputType(problem) != ElementType::kFloat) {
    return std::all_of(trial_.reference.begin(), trial_.reference.end(), [&](const auto& element) {
      return outputs[element.output][element.offset] == static_cast<float>(element.value);
    });
  }
  const Difference difference = Compare(trial_.reference, outputs, step_.problem.precision);
  return Passes(difference, problem, step_.problem.precision);
}

int64_t TrialBench::OutputElementBytes() const {
  return ElementBytes(OutputType(step_.problem.problem), step_.problem.precision);
}

size_t TrialBench::OutputBytes(size_t output) const {
  const int64_t count = step_.places.pitches.output(output).SpanOf(step_.shape.outputs[output]);
  return static_cast<size_t>(count * OutputElementBytes());
}

Result<void*> TrialBench::Take(size_t bytes) {
  const Result<void*> memory = device_.runtime->Allocate(bytes);
  if (memory.ok()) memory_.emplace_back(device_.runtime, memory.value());
  return memory;
}

Status TrialBench::Put(const std::vector<std::byte>& bytes, const void** place) {
  if (bytes.empty()) return Ok();
  const Result<void*> memory = Take(bytes.size());
  if (!memory.ok()) return memory.error();
  *place = memory.value();
  return device_.staging->Upload(memory.value(), bytes.data(), bytes.size(), device_.stream);
}

}  // namespace plait::cuda
