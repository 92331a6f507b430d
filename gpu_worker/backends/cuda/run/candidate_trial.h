#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gpu_worker/backends/cuda/driver/clock_watch.h"
#include "gpu_worker/backends/cuda/driver/graph_builder.h"
#include "gpu_worker/backends/cuda/driver/owned.h"
#include "gpu_worker/backends/cuda/driver/runtime.h"
#include "gpu_worker/backends/cuda/driver/staging.h"
#include "gpu_worker/backends/cuda/problem/candidate.h"
#include "gpu_worker/backends/cuda/problem/host_operands.h"
#include "gpu_worker/backends/cuda/problem/reference_problem.h"
#include "gpu_worker/backends/cuda/run/step_problem.h"

namespace plait::cuda {

// With what of a device candidates are tried and timed. Nothing is owned.
struct TimingDevice {
  Runtime* runtime;
  Stream stream;
  Staging* staging;
  int multiprocessors;
  ClockWatch* clock = nullptr;  // null: nobody looks at it
};

// What a problem's candidates are tried on: seeded operands, and what they should give in some
// places.
struct TrialData {
  HostOperands operands;
  std::vector<ReferenceElement> reference;
};

// What a reference may take; a problem of more is compared in places. The first of candidates that
// are timed: a tenth of a second on one core. The second where each problem has one trial alone: a
// job on a simulated device would take 1.4 times as long with the first, and takes 1.2 times.
constexpr int64_t kReferenceOperationsMax = 50'000'000;
constexpr int64_t kLoneReferenceOperationsMax = 2'000'000;

// Pure; on as many threads as pay. REQUIRES: the step is a launch.
TrialData MakeTrialData(const StepProblem& step, int64_t operations_max = kReferenceOperationsMax);

// A problem's operands on the device, with what they should give. Not thread-safe.
class TrialBench {
 public:
  // All of them outlive it.
  TrialBench(const StepProblem& step, const TrialData& trial, const TimingDevice& device)
      : step_(step), trial_(trial), device_(device) {}

  // Errors: kDevice.
  Status Upload();

  // Makes room for the largest workspace of a candidate that the device has memory for; one after
  // the other they all use it.
  void TakeWorkspace(const std::vector<std::unique_ptr<Candidate>>& candidates);

  // The same for one alone. Errors: kDevice where the device has no memory for it.
  Status TakeWorkspace(size_t bytes);

  bool HasRoomFor(const Candidate& candidate) const {
    return candidate.workspace_bytes() <= workspace_bytes_;
  }

  // Launches once and compares. REQUIRES: HasRoomFor(*candidate).
  // Floats have to be near the reference in what was sampled (Passes); what is no float has to
  // equal it. A fused kernel in which a rounding decides, as of a comparison, may be refused for
  // that, and its nodes run by themselves.
  // Errors: kUnsupported for wrong results; those of the launch.
  Status TryOut(Candidate* candidate);

  // The same of a graph of the candidate's launches with these operands: a library may enqueue
  // something else while it is captured.
  Status TryOut(const Candidate& candidate, const ExecutableGraph& graph);

  const Operands& operands() const { return operands_; }

 private:
  int64_t OutputElementBytes() const;
  size_t OutputBytes(size_t output) const;
  Result<void*> Take(size_t bytes);
  // Null for an operand that is not there.
  Status Put(const std::vector<std::byte>& bytes, const void** place);
  // What the run leaves in the outputs, all of which it has to write.
  Status TryOut(const std::string& name, const std::function<Status()>& run);
  bool IsRight(const std::vector<std::vector<float>>& outputs) const;

  const StepProblem& step_;
  const TrialData& trial_;
  const TimingDevice& device_;
  Operands operands_;
  size_t workspace_bytes_ = 0;
  std::vector<OwnedMemory> memory_;
};

}  // namespace plait::cuda
