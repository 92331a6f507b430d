#include "gpu_worker/backends/cuda/run/time_candidates.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "gpu_worker/backends/cuda/driver/owned.h"
#include "gpu_worker/backends/cuda/problem/difference.h"
#include "gpu_worker/backends/cuda/problem/host_operands.h"
#include "gpu_worker/backends/cuda/problem/reference_problem.h"

namespace plait::cuda {
namespace {

constexpr uint64_t kSeed = 1;
// In turn, so that a clock that moves hits all alike; odd, so that the median is a sample.
constexpr int kRounds = 5;
// Back to back between two events: what an event cannot resolve is shared by this many.
constexpr int kLaunches = 20;
// A tenth of a second on one core; a problem of more is compared in places.
constexpr int64_t kReferenceOperationsMax = 50'000'000;

// A problem's operands on the device, with what they should give.
class Trial {
 public:
  Trial(const StepProblem& step, const TimingDevice& device) : step_(step), device_(device) {}

  Status Upload() {
    const Problem& problem = step_.problem.problem;
    const Precision precision = step_.problem.precision;
    const HostOperands host = MakeHostOperands(problem, step_.shape, precision, kSeed);
    reference_ = ComputeReference(problem, step_.shape, step_.problem.layout, host,
                                  kReferenceOperationsMax, kSeed);
    for (size_t i = 0; i < host.inputs.size(); ++i) {
      const bool indices = i == 1 && !host.indices.empty();
      std::vector<std::byte> bytes = ToStorage(host.inputs[i], precision);
      if (indices) {
        bytes.resize(host.indices.size() * sizeof(int64_t));
        std::memcpy(bytes.data(), host.indices.data(), bytes.size());
      }
      operands_.inputs.push_back(nullptr);
      PLAIT_CUDA_RETURN_IF_ERROR(Put(bytes, &operands_.inputs.back()));
    }
    const std::pair<const std::vector<float>*, const void**> others[] = {
        {&host.weights, &operands_.weights},
        {&host.second_weights, &operands_.second_weights},
        {&host.bias, &operands_.bias},
        {&host.second_bias, &operands_.second_bias},
        {&host.residual, &operands_.residual}};
    for (const auto& [values, place] : others) {
      PLAIT_CUDA_RETURN_IF_ERROR(Put(ToStorage(*values, precision), place));
    }
    for (const int64_t count : step_.shape.outputs) {
      const Result<void*> output = Take(static_cast<size_t>(count * ElementBytes(precision)));
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

  // Launches once and compares. Errors: kUnsupported for wrong results; those of the launch.
  Status TryOut(Candidate* candidate, OwnedMemory* workspace) {
    if (const size_t bytes = candidate->workspace_bytes(); bytes > 0) {
      const Result<void*> memory = device_.runtime->Allocate(bytes);
      if (!memory.ok()) return memory.error();
      *workspace = OwnedMemory(device_.runtime, memory.value());
    }
    for (size_t i = 0; i < operands_.outputs.size(); ++i) {
      PLAIT_CUDA_RETURN_IF_ERROR(
          device_.runtime->Fill(operands_.outputs[i], 0xff, OutputBytes(i), device_.stream));
    }
    PLAIT_CUDA_RETURN_IF_ERROR(Launch(candidate, *workspace));
    std::vector<std::vector<float>> outputs;
    for (size_t i = 0; i < operands_.outputs.size(); ++i) {
      std::vector<std::byte> bytes(OutputBytes(i));
      PLAIT_CUDA_RETURN_IF_ERROR(device_.staging->Download(bytes.data(), operands_.outputs[i],
                                                           bytes.size(), device_.stream));
      outputs.push_back(FromStorage(bytes.data(), static_cast<size_t>(step_.shape.outputs[i]),
                                    step_.problem.precision));
    }
    const Difference difference = Compare(reference_, outputs, step_.problem.precision);
    if (Passes(difference, step_.problem.problem, step_.problem.precision)) return Ok();
    return Error{ErrorCode::kUnsupported, candidate->name() + ": wrong results"};
  }

  Status Launch(Candidate* candidate, const OwnedMemory& workspace) {
    operands_.workspace = workspace.get();
    return candidate->Launch(operands_, device_.stream);
  }

 private:
  size_t OutputBytes(size_t output) const {
    return static_cast<size_t>(step_.shape.outputs[output] * ElementBytes(step_.problem.precision));
  }

  Result<void*> Take(size_t bytes) {
    const Result<void*> memory = device_.runtime->Allocate(bytes);
    if (memory.ok()) memory_.emplace_back(device_.runtime, memory.value());
    return memory;
  }

  // Null for an operand that is not there.
  Status Put(const std::vector<std::byte>& bytes, const void** place) {
    if (bytes.empty()) return Ok();
    const Result<void*> memory = Take(bytes.size());
    if (!memory.ok()) return memory.error();
    *place = memory.value();
    return device_.staging->Upload(memory.value(), bytes.data(), bytes.size(), device_.stream);
  }

  const StepProblem& step_;
  const TimingDevice& device_;
  Operands operands_;
  std::vector<ReferenceElement> reference_;
  std::vector<OwnedMemory> memory_;
};

// What kLaunches take between two events.
Result<double> TimeSpan(Trial* trial, Candidate* candidate, const OwnedMemory& workspace,
                        const TimingDevice& device) {
  Runtime& runtime = *device.runtime;
  OwnedEvent events[2];
  for (OwnedEvent& event : events) {
    const Result<Event> created = runtime.CreateEvent();
    if (!created.ok()) return created.error();
    event = OwnedEvent(&runtime, created.value());
  }
  PLAIT_CUDA_RETURN_IF_ERROR(runtime.RecordEvent(events[0].get(), device.stream));
  for (int i = 0; i < kLaunches; ++i) {
    PLAIT_CUDA_RETURN_IF_ERROR(trial->Launch(candidate, workspace));
  }
  PLAIT_CUDA_RETURN_IF_ERROR(runtime.RecordEvent(events[1].get(), device.stream));
  PLAIT_CUDA_RETURN_IF_ERROR(runtime.Synchronize(device.stream));
  return runtime.ElapsedUs(events[0].get(), events[1].get());
}

double MedianOf(std::vector<double> samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

}  // namespace

Result<size_t> FastestOf(const std::vector<std::unique_ptr<Candidate>>& candidates,
                         const StepProblem& step, const TimingDevice& device) {
  Trial trial(step, device);
  PLAIT_CUDA_RETURN_IF_ERROR(trial.Upload());
  std::vector<OwnedMemory> workspaces(candidates.size());
  std::vector<std::vector<double>> spans_us(candidates.size());
  std::vector<size_t> left;
  std::string reasons;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const Status status = trial.TryOut(candidates[i].get(), &workspaces[i]);
    if (status.ok()) {
      left.push_back(i);
    } else {
      reasons += "; " + status.error().message;
      PLAIT_CUDA_RETURN_IF_ERROR(device.runtime->CheckHealth());
    }
  }
  if (left.empty()) return Error{ErrorCode::kUnsupported, "no candidate is right" + reasons};
  for (int round = 0; round < kRounds && left.size() > 1; ++round) {
    for (const size_t i : left) {
      const Result<double> span = TimeSpan(&trial, candidates[i].get(), workspaces[i], device);
      if (!span.ok()) return span.error();
      spans_us[i].push_back(span.value());
    }
  }
  if (left.size() == 1) return left[0];
  return *std::min_element(left.begin(), left.end(), [&](size_t a, size_t b) {
    return MedianOf(spans_us[a]) < MedianOf(spans_us[b]);
  });
}

}  // namespace plait::cuda
