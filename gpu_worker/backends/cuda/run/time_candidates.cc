#include "gpu_worker/backends/cuda/run/time_candidates.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>

#include "gpu_worker/backends/cuda/driver/launch_chain.h"
#include "gpu_worker/backends/cuda/driver/owned.h"

namespace plait::cuda {
namespace {

// In turn, so that a clock that moves hits all alike; odd, so that the median is a sample.
constexpr int kRounds = 5;
// Of one graph: enough to choose finalists by.
constexpr int kQuickLaunches = 5;
// Of a finalist's graph: its own start is shared by this many; fewer where they take longer than a
// span has to.
constexpr int kLaunchesMax = 100;
// Between two events, which are good for half a microsecond each: the graph is replayed so often.
constexpr double kFinalistSpanUsMin = 2000;
constexpr int kReplaysMax = 100;
constexpr size_t kFinalistsMax = 4;
constexpr double kFinalistWithin = 1.5;
// More than what a kernel that leaves room loses by itself is seldom won by those beside it.
constexpr double kNarrowWithin = 1.3;

// A candidate that can be launched.
struct Contender {
  size_t index;
  Candidate* candidate;
  double quick_us = 0;
  double compute_share = 1;
  int launches = 0;  // of its graph
  std::unique_ptr<ExecutableGraph> chain;
  std::vector<double> launch_us;
};

// Makes its graph one of so many launches. The first run of it is thrown away.
Status Capture(const TrialBench& bench, Contender* contender, int launches,
               const TimingDevice& device) {
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

// What one launch takes in its graph, which runs so often back to back.
Result<double> LaunchUs(const Contender& contender, int replays, const TimingDevice& device) {
  const auto time = [&] {
    return SpanUs(device.runtime, device.stream, [&]() -> Status {
      for (int i = 0; i < replays; ++i) {
        PLAIT_CUDA_RETURN_IF_ERROR(contender.chain->Launch(device.stream));
      }
      return Ok();
    });
  };
  const Result<double> span = device.clock == nullptr ? time() : device.clock->TimeSteady(time);
  if (!span.ok()) return span.error();
  return span.value() / (contender.launches * replays);
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
Status TimeQuickly(const TrialBench& bench, Contender* contender, const TimingDevice& device) {
  if (!bench.HasRoomFor(*contender->candidate)) {
    return Error{ErrorCode::kDevice,
                 contender->candidate->name() + ": CUDA_ERROR_OUT_OF_MEMORY for its workspace"};
  }
  PLAIT_CUDA_RETURN_IF_ERROR(Capture(bench, contender, kQuickLaunches, device));
  for (int i = 0; i < 2; ++i) {
    const Result<double> us = LaunchUs(*contender, /*replays=*/1, device);
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

// Launches that suffice for a span where one takes so long.
int LaunchesOfSpan(double us) {
  return static_cast<int>(
      std::clamp(kFinalistSpanUsMin / std::max(us, 0.1), 1.0 * kQuickLaunches, 1.0 * kLaunchesMax));
}

// Who is timed in turn with the others.
class Finalists {
 public:
  Finalists(TrialBench* bench, const TimingDevice& device, std::string* reasons)
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

  // All of them in turn: graphs of as many launches each, as many times. Who is wrong in so many is
  // left out.
  Status Time() {
    double longest_us = 0;
    for (const Contender& finalist : chosen_) longest_us = std::max(longest_us, finalist.quick_us);
    const int launches = LaunchesOfSpan(longest_us);
    PLAIT_CUDA_RETURN_IF_ERROR(CaptureAll(launches));
    double replays = 1;
    for (const Contender& finalist : chosen_) {
      const Result<double> us = LaunchUs(finalist, /*replays=*/1, device_);
      if (!us.ok()) return us.error();
      replays =
          std::max(replays, std::ceil(kFinalistSpanUsMin / std::max(launches * us.value(), 1.0)));
    }
    const int replays_of_all = static_cast<int>(std::min(replays, 1.0 * kReplaysMax));
    for (int round = 0; round < kRounds; ++round) {
      for (Contender& finalist : chosen_) {
        const Result<double> us = LaunchUs(finalist, replays_of_all, device_);
        if (!us.ok()) return us.error();
        finalist.launch_us.push_back(us.value());
      }
    }
    return Ok();
  }

  const std::vector<Contender>& chosen() const { return chosen_; }

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
    return ChooseIfRightInGraph(contender);
  }

  Status ChooseIfRightInGraph(Contender* contender) {
    const Status status = bench_->TryOut(*contender->candidate, *contender->chain);
    if (!status.ok()) {
      // It was right by itself: a mistake of a library that somebody should hear of.
      std::fprintf(stderr, "plait: %s\n", status.error().message.c_str());
      return LeaveOut(status, device_, reasons_);
    }
    chosen_.push_back(std::move(*contender));
    return Ok();
  }

  Status CaptureAll(int launches) {
    for (Contender& finalist : std::exchange(chosen_, {})) {
      if (launches == finalist.launches) {
        chosen_.push_back(std::move(finalist));
        continue;
      }
      PLAIT_CUDA_RETURN_IF_ERROR(Capture(*bench_, &finalist, launches, device_));
      PLAIT_CUDA_RETURN_IF_ERROR(ChooseIfRightInGraph(&finalist));
    }
    return Ok();
  }

  TrialBench* const bench_;
  const TimingDevice& device_;
  std::string* const reasons_;
  std::vector<Contender> chosen_;
};

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

Result<CandidateChoice> ChooseCandidates(const std::vector<std::unique_ptr<Candidate>>& candidates,
                                         const StepProblem& step, const TrialData& trial,
                                         const TimingDevice& device) {
  TrialBench bench(step, trial, device);
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
  Finalists finalists(&bench, device, &reasons);
  PLAIT_CUDA_RETURN_IF_ERROR(finalists.Choose(std::move(contenders)));
  if (finalists.chosen().size() > 1) PLAIT_CUDA_RETURN_IF_ERROR(finalists.Time());
  if (finalists.chosen().empty()) {
    // What does not fit now may fit when others have left the device.
    return Error{all_fit ? ErrorCode::kUnsupported : ErrorCode::kDevice,
                 "no candidate is right" + reasons};
  }
  return ChoiceOf(finalists.chosen());
}

}  // namespace plait::cuda
