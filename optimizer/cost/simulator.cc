#include "optimizer/cost/simulator.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

// Three steps of 2, 4 and 4 us on three streams, each of which wants half of the device. Together
// they want 1.5 devices, so all progress at 2/3 of their speed: at 3 us the first has done its 2
// us, the others 2 of their 4. From there on the two want one device and run at full speed: the end
// is at 5 us, where without contention it would be 4, and one after the other 10.
//
// Two kinds of events, a start and a finish, are taken in order of time; between two events the
// rate is constant, so remaining times are all there is to keep (FlexFlow's simulator, MLSys 2019,
// with shares in the place of devices). O((steps + edges) * running steps).

namespace plait {
namespace {

// A prerequisite of a step.
struct Requirement {
  int earlier;
  int later;
  bool cross_stream;
};

// The event loop's state. Times are microseconds since the start of the schedule.
class EventLoop {
 public:
  EventLoop(absl::Span<const SimulatedStep> steps, const SimulatorOptions& options)
      : steps_(steps),
        options_(options),
        first_release_(steps.size() + 1, 0),
        open_prerequisites_(steps.size(), 0),
        ready_us_(steps.size(), 0),
        remaining_us_(steps.size(), 0) {
    simulation_.start_us.resize(steps.size(), 0);
    simulation_.finish_us.resize(steps.size(), 0);
    CollectPrerequisites();
  }

  Simulation Run() {
    for (size_t step = 0; step < steps_.size(); ++step) {
      if (open_prerequisites_[step] == 0) Schedule(static_cast<int>(step));
    }
    while (!starting_.empty() || !running_.empty()) {
      const double finish_us = NextFinishUs();
      if (!starting_.empty() && (running_.empty() || starting_.top().first <= finish_us)) {
        const auto [start_us, step] = starting_.top();
        starting_.pop();
        Advance(start_us);
        simulation_.start_us[step] = start_us;
        remaining_us_[step] = steps_[step].latency_us;
        running_.push_back(step);
      } else {
        Advance(finish_us);
        FinishEnded();
      }
    }
    simulation_.makespan_us = now_us_;
    return std::move(simulation_);
  }

 private:
  void Require(int earlier, int later) {
    requirements_.push_back({earlier, later, steps_[earlier].stream != steps_[later].stream});
    ++first_release_[earlier + 1];
    ++open_prerequisites_[later];
  }

  // By the step that has to finish: what each step releases lies side by side, in its order.
  void SortRequirements() {
    for (size_t step = 1; step < first_release_.size(); ++step) {
      first_release_[step] += first_release_[step - 1];
    }
    std::vector<size_t> next(first_release_.begin(), first_release_.end() - 1);
    releases_.resize(requirements_.size());
    for (const Requirement& requirement : requirements_) {
      releases_[next[requirement.earlier]++] = requirement;
    }
  }

  // A barrier waits for everything since the last barrier, and everything after it waits for it
  // alone: barriers add two edges to a step at most.
  void CollectPrerequisites() {
    int last_barrier = -1;
    std::vector<int> last_on_stream;
    std::vector<int> since_barrier;
    for (int step = 0; step < static_cast<int>(steps_.size()); ++step) {
      const size_t stream = static_cast<size_t>(steps_[step].stream);
      if (last_on_stream.size() <= stream) last_on_stream.resize(stream + 1, -1);
      if (last_on_stream[stream] >= 0) Require(last_on_stream[stream], step);
      for (const int wait : steps_[step].waits) Require(wait, step);
      if (last_barrier >= 0) Require(last_barrier, step);
      if (steps_[step].alone) {
        for (const int earlier : since_barrier) Require(earlier, step);
        since_barrier.clear();
        last_barrier = step;
      } else {
        since_barrier.push_back(step);
      }
      last_on_stream[stream] = step;
    }
    SortRequirements();
  }

  void Schedule(int step) {
    starting_.emplace(std::max(now_us_, ready_us_[step]) + options_.launch_gap_us, step);
  }

  double Slowdown() const {
    double compute = 0;
    double bandwidth = 0;
    for (const int step : running_) {
      compute += steps_[step].compute_share;
      bandwidth += steps_[step].bandwidth_share;
    }
    return std::max({1.0, compute, bandwidth});
  }

  double NextFinishUs() const {
    double shortest_us = 0;
    for (size_t i = 0; i < running_.size(); ++i) {
      const double remaining_us = remaining_us_[running_[i]];
      if (i == 0 || remaining_us < shortest_us) shortest_us = remaining_us;
    }
    return now_us_ + shortest_us * Slowdown();
  }

  void Advance(double to_us) {
    const double progress_us = (to_us - now_us_) / Slowdown();
    for (const int step : running_) remaining_us_[step] -= progress_us;
    now_us_ = to_us;
  }

  // Finishes the running steps that have nothing left; rounding leaves up to a part in 10^9.
  void FinishEnded() {
    double shortest_us = remaining_us_[running_.front()];
    for (const int step : running_) shortest_us = std::min(shortest_us, remaining_us_[step]);
    ended_.clear();
    size_t kept = 0;
    for (const int step : running_) {
      // Written so that what is no number ends.
      const bool goes_on = remaining_us_[step] > shortest_us + 1e-9 * (1 + steps_[step].latency_us);
      if (goes_on) {
        running_[kept++] = step;
      } else {
        ended_.push_back(step);
      }
    }
    running_.resize(kept);
    for (const int step : ended_) Finish(step);
  }

  void Finish(int step) {
    simulation_.finish_us[step] = now_us_;
    for (size_t i = first_release_[step]; i < first_release_[step + 1]; ++i) {
      const auto [earlier, later, cross_stream] = releases_[i];
      const double ready_us = now_us_ + (cross_stream ? options_.cross_stream_us : 0);
      ready_us_[later] = std::max(ready_us_[later], ready_us);
      if (--open_prerequisites_[later] == 0) Schedule(later);
    }
  }

  using Start = std::pair<double, int>;

  absl::Span<const SimulatedStep> steps_;
  const SimulatorOptions& options_;
  std::vector<Requirement> requirements_;  // as they were found
  std::vector<Requirement> releases_;      // by the step that has to finish
  std::vector<size_t> first_release_;      // by step, and behind the last
  std::vector<int> open_prerequisites_;
  std::vector<double> ready_us_;
  std::vector<double> remaining_us_;
  std::priority_queue<Start, std::vector<Start>, std::greater<Start>> starting_;
  std::vector<int> running_;
  std::vector<int> ended_;  // at now_us_
  double now_us_ = 0;
  Simulation simulation_;
};

}  // namespace

Simulation Simulate(absl::Span<const SimulatedStep> steps, const SimulatorOptions& options) {
  return EventLoop(steps, options).Run();
}

}  // namespace plait
