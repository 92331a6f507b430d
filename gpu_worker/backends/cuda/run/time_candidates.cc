#include "gpu_worker/backends/cuda/run/time_candidates.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "gpu_worker/backends/cuda/driver/launch_chain.h"
#include "gpu_worker/backends/cuda/driver/owned.h"
#include "gpu_worker/backends/cuda/problem/difference.h"

namespace plait::cuda {
namespace {

constexpr uint64_t kSeed = 1;
// As four of them a NaN, as two in half precision, too.
constexpr std::byte kUnwritten{0xff};
// In turn, so that a clock that moves hits all alike; odd, so that the median is a sample.
constexpr int kRounds = 5;
// Of one graph: enough to choose finalists by.
constexpr int kQuickLaunches = 5;
// Of a finalist's graph: what an event cannot resolve, and the graph's own start, is shared by this
// many; fewer where they would take longer than that.
constexpr int kLaunches = 20;
constexpr double kSpanUsMax = 2000;
constexpr size_t kFinalistsMax = 4;
constexpr double kFinalistWithin = 1.5;
// More than what a kernel that leaves room loses by itself is seldom won by those beside it.
constexpr double kNarrowWithin = 1.3;
// A tenth of a second on one core; a problem of more is compared in places.
constexpr int64_t kReferenceOperationsMax = 50'000'000;

// A problem's operands on the device, with what they should give.
class Bench {
 public:
  Bench(const StepProblem& step, const TrialData& trial, const TimingDevice& device)
      : step_(step), trial_(trial), device_(device) {}

  Status Upload() {
    const HostOperands& host = trial_.operands;
    const Precision precision = step_.problem.precision;
    const OperandPitches& pitches = step_.places.pitches;
    const int64_t element = ElementBytes(precision);
    for (size_t i = 0; i < host.inputs.size(); ++i) {
      const bool indices = i == 1 && !host.indices.empty();
      std::vector<std::byte> bytes = ToStorage(host.inputs[i], precision);
      if (indices) {
        bytes.resize(host.indices.size() * sizeof(int64_t));
        std::memcpy(bytes.data(), host.indices.data(), bytes.size());
      }
      bytes = Spread(bytes, pitches.input(i), element);
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
        Put(Spread(ToStorage(host.residual, precision), pitches.residual, element),
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

  // Makes room for the largest workspace of a candidate that the device has memory for; one after
  // the other they all use it.
  void TakeWorkspace(const std::vector<std::unique_ptr<Candidate>>& candidates) {
    std::set<size_t, std::greater<>> sizes;
    for (const auto& candidate : candidates) sizes.insert(candidate->workspace_bytes());
    for (const size_t bytes : sizes) {
      if (bytes == 0) return;
      const Result<void*> memory = Take(bytes);
      if (!memory.ok()) continue;
      operands_.workspace = memory.value();
      workspace_bytes_ = bytes;
      return;
    }
  }

  bool HasRoomFor(const Candidate& candidate) const {
    return candidate.workspace_bytes() <= workspace_bytes_;
  }

  // Launches once and compares. Errors: kUnsupported for wrong results; those of the launch.
  Status TryOut(Candidate* candidate) {
    for (size_t i = 0; i < operands_.outputs.size(); ++i) {
      PLAIT_CUDA_RETURN_IF_ERROR(device_.runtime->Fill(
          operands_.outputs[i], std::to_integer<int>(kUnwritten), OutputBytes(i), device_.stream));
    }
    PLAIT_CUDA_RETURN_IF_ERROR(candidate->Launch(operands_, device_.stream));
    std::vector<std::vector<float>> outputs;
    for (size_t i = 0; i < operands_.outputs.size(); ++i) {
      std::vector<std::byte> bytes(OutputBytes(i));
      PLAIT_CUDA_RETURN_IF_ERROR(device_.staging->Download(bytes.data(), operands_.outputs[i],
                                                           bytes.size(), device_.stream));
      const PixelPitch pitch = step_.places.pitches.output(i);
      const int64_t element = ElementBytes(step_.problem.precision);
      if (!GapsAre(kUnwritten, bytes, pitch, element)) {
        return Error{ErrorCode::kUnsupported, candidate->name() + ": writes beside its pixels"};
      }
      const std::vector<std::byte> dense = Collect(bytes, pitch, element);
      outputs.push_back(FromStorage(dense.data(), static_cast<size_t>(step_.shape.outputs[i]),
                                    step_.problem.precision));
    }
    const Difference difference = Compare(trial_.reference, outputs, step_.problem.precision);
    if (Passes(difference, step_.problem.problem, step_.problem.precision)) return Ok();
    return Error{ErrorCode::kUnsupported, candidate->name() + ": wrong results"};
  }

  const Operands& operands() const { return operands_; }

 private:
  size_t OutputBytes(size_t output) const {
    const int64_t count = step_.places.pitches.output(output).SpanOf(step_.shape.outputs[output]);
    return static_cast<size_t>(count * ElementBytes(step_.problem.precision));
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
  const TrialData& trial_;
  const TimingDevice& device_;
  Operands operands_;
  size_t workspace_bytes_ = 0;
  std::vector<OwnedMemory> memory_;
};

// A candidate that can be launched.
struct Contender {
  size_t index;
  Candidate* candidate;
  double quick_us = 0;
  double compute_share = 1;
  int launches = 0;
  std::unique_ptr<ExecutableGraph> chain;
  std::vector<double> launch_us;
};

// Makes its graph one of so many launches. The first run of it is thrown away.
Status Capture(const Bench& bench, Contender* contender, int launches, const TimingDevice& device) {
  std::vector<NodeDescription> nodes;
  Result<ExecutableGraph> chain = BuildChain(
      device.runtime, launches,
      [&](int, Stream stream) { return contender->candidate->Launch(bench.operands(), stream); },
      {contender->candidate->resources()}, &nodes);
  if (!chain.ok()) return chain.error();
  contender->compute_share = ComputeShare(nodes, device.multiprocessors);
  contender->launches = launches;
  contender->chain = std::make_unique<ExecutableGraph>(std::move(chain).value());
  return contender->chain->Launch(device.stream);
}

// What one launch takes in its graph.
Result<double> LaunchUs(const Contender& contender, const TimingDevice& device) {
  const auto time = [&] {
    return SpanUs(device.runtime, device.stream,
                  [&] { return contender.chain->Launch(device.stream); });
  };
  const Result<double> span = device.clock == nullptr ? time() : device.clock->TimeSteady(time);
  if (!span.ok()) return span.error();
  return span.value() / contender.launches;
}

// 0 of none: one contender alone is not timed.
double MedianOf(std::vector<double> samples) {
  if (samples.empty()) return 0;
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

// Sets what a launch takes, by a few of them. Whether the results are right is not looked at.
// Errors: kDevice where its workspace does not fit.
Status TimeQuickly(const Bench& bench, Contender* contender, const TimingDevice& device) {
  if (!bench.HasRoomFor(*contender->candidate)) {
    return Error{ErrorCode::kDevice,
                 contender->candidate->name() + ": CUDA_ERROR_OUT_OF_MEMORY for its workspace"};
  }
  PLAIT_CUDA_RETURN_IF_ERROR(Capture(bench, contender, kQuickLaunches, device));
  for (int i = 0; i < 2; ++i) {
    const Result<double> us = LaunchUs(*contender, device);
    if (!us.ok()) return us.error();
    contender->quick_us = i == 0 ? us.value() : std::min(contender->quick_us, us.value());
  }
  return Ok();
}

// Adds why a candidate is out. Errors: kDevice where it is the device that has failed.
Status LeaveOut(const Status& why, const TimingDevice& device, std::string* reasons) {
  *reasons += "; " + why.error().message;
  return device.runtime->CheckHealth();
}

// Who is timed in turn with the others.
class Finalists {
 public:
  Finalists(Bench* bench, const TimingDevice& device, std::string* reasons)
      : bench_(bench), device_(device), reasons_(reasons) {}

  // Of those that give the right numbers the best few, the best first, and behind them the one that
  // leaves more room than they do, if any is fast enough. The others are not compared: most
  // candidates are far from the best, and comparing takes longer than a launch.
  Status Choose(std::vector<Contender> contenders) {
    std::stable_sort(
        contenders.begin(), contenders.end(),
        [](const Contender& a, const Contender& b) { return a.quick_us < b.quick_us; });
    auto next = contenders.begin();
    for (; next != contenders.end() && chosen_.size() < kFinalistsMax; ++next) {
      if (!IsWithin(kFinalistWithin, *next)) break;
      PLAIT_CUDA_RETURN_IF_ERROR(TryOut(&*next));
    }
    std::stable_sort(next, contenders.end(), [](const Contender& a, const Contender& b) {
      return a.compute_share < b.compute_share;
    });
    const size_t fast_ones = chosen_.size();
    for (; next != contenders.end() && chosen_.size() == fast_ones; ++next) {
      if (!LeavesMoreRoom(*next)) break;
      if (IsWithin(kNarrowWithin, *next)) PLAIT_CUDA_RETURN_IF_ERROR(TryOut(&*next));
    }
    return Ok();
  }

  std::vector<Contender>& chosen() { return chosen_; }

 private:
  bool IsWithin(double factor, const Contender& contender) const {
    return chosen_.empty() || contender.quick_us <= factor * chosen_[0].quick_us;
  }

  bool LeavesMoreRoom(const Contender& contender) const {
    return std::all_of(chosen_.begin(), chosen_.end(), [&](const Contender& other) {
      return contender.compute_share < other.compute_share;
    });
  }

  Status TryOut(Contender* contender) {
    const Status status = bench_->TryOut(contender->candidate);
    if (!status.ok()) return LeaveOut(status, device_, reasons_);
    chosen_.push_back(std::move(*contender));
    return Ok();
  }

  Bench* const bench_;
  const TimingDevice& device_;
  std::string* const reasons_;
  std::vector<Contender> chosen_;
};

// All of them in turn.
Status TimeFinalists(const Bench& bench, std::vector<Contender>* finalists,
                     const TimingDevice& device) {
  double longest_us = 0;
  for (const Contender& finalist : *finalists) {
    longest_us = std::max(longest_us, finalist.quick_us);
  }
  const int launches = static_cast<int>(
      std::clamp(kSpanUsMax / std::max(longest_us, 0.1), 1.0 * kQuickLaunches, 1.0 * kLaunches));
  for (Contender& finalist : *finalists) {
    if (launches == finalist.launches) continue;
    PLAIT_CUDA_RETURN_IF_ERROR(Capture(bench, &finalist, launches, device));
  }
  for (int round = 0; round < kRounds; ++round) {
    for (Contender& finalist : *finalists) {
      const Result<double> us = LaunchUs(finalist, device);
      if (!us.ok()) return us.error();
      finalist.launch_us.push_back(us.value());
    }
  }
  return Ok();
}

CandidateChoice ChoiceOf(const std::vector<Contender>& finalists) {
  std::vector<double> us;
  for (const Contender& finalist : finalists) us.push_back(MedianOf(finalist.launch_us));
  const double least_us = *std::min_element(us.begin(), us.end());
  CandidateChoice choice;
  const Contender* narrowest = nullptr;
  for (size_t i = finalists.size(); i-- > 0;) {
    if (us[i] == least_us) choice.fastest = finalists[i].index;
    if (us[i] > kNarrowWithin * least_us) continue;
    const bool is_better = narrowest == nullptr ||
                           finalists[i].compute_share < narrowest->compute_share ||
                           (finalists[i].compute_share == narrowest->compute_share &&
                            us[i] <= MedianOf(narrowest->launch_us));
    if (is_better) narrowest = &finalists[i];
  }
  choice.narrowest = narrowest->index;
  return choice;
}

}  // namespace

TrialData MakeTrialData(const StepProblem& step) {
  const KernelProblem& problem = step.problem;
  TrialData trial;
  trial.operands = MakeHostOperands(problem.problem, step.shape, problem.precision, kSeed);
  trial.reference = ComputeReference(problem.problem, step.shape, problem.layout, trial.operands,
                                     kReferenceOperationsMax, kSeed);
  return trial;
}

Result<CandidateChoice> ChooseCandidates(const std::vector<std::unique_ptr<Candidate>>& candidates,
                                         const StepProblem& step, const TrialData& trial,
                                         const TimingDevice& device) {
  Bench bench(step, trial, device);
  PLAIT_CUDA_RETURN_IF_ERROR(bench.Upload());
  bench.TakeWorkspace(candidates);
  std::vector<Contender> contenders;
  std::string reasons;
  bool all_fit = true;
  for (size_t i = 0; i < candidates.size(); ++i) {
    Contender contender{.index = i, .candidate = candidates[i].get()};
    all_fit = all_fit && bench.HasRoomFor(*contender.candidate);
    const Status status = TimeQuickly(bench, &contender, device);
    if (status.ok()) {
      contenders.push_back(std::move(contender));
    } else {
      PLAIT_CUDA_RETURN_IF_ERROR(LeaveOut(status, device, &reasons));
    }
  }
  Finalists compared(&bench, device, &reasons);
  PLAIT_CUDA_RETURN_IF_ERROR(compared.Choose(std::move(contenders)));
  std::vector<Contender>& finalists = compared.chosen();
  if (finalists.empty()) {
    // What does not fit now may fit when others have left the device.
    return Error{all_fit ? ErrorCode::kUnsupported : ErrorCode::kDevice,
                 "no candidate is right" + reasons};
  }
  if (finalists.size() > 1) {
    PLAIT_CUDA_RETURN_IF_ERROR(TimeFinalists(bench, &finalists, device));
  }
  return ChoiceOf(finalists);
}

}  // namespace plait::cuda
