#include "optimizer/schedule/fluid_schedule.h"

#include <algorithm>
#include <utility>

// Launches 0, 1 and 2 could start at once and want 0.6, 0.6 and 0.3 of the device, for 4, 4 and 2
// us; their priorities are 9, 5 and 4. With a share_max of 1 launch 0 starts, 1 waits, since
// together they want 1.2, and 2 runs beside 0, until 2. At 4 us launch 1 follows on the stream of
// 0, where the plan has it wait, until 8. With a share_max of 1.5 all three start; they want 1.5
// and progress at 2/3: 2 ends at 3 us, and 0 and 1, which then want 1.2, at 5.4 us.

namespace plait {
namespace {

class FluidScheduler {
 public:
  FluidScheduler(const ScheduleProblem& problem, const FluidOptions& options)
      : problem_(problem),
        options_(options),
        readers_(problem.launches.size()),
        open_predecessors_(problem.launches.size(), 0),
        stream_of_(problem.launches.size(), -1),
        begin_us_(problem.launches.size(), 0),
        remaining_us_(problem.launches.size(), 0),
        finish_us_(problem.launches.size(), 0),
        streams_(std::max(1, problem.device.streams_max)) {
    for (size_t launch = 0; launch < problem.launches.size(); ++launch) {
      for (const int predecessor : problem.launches[launch].predecessors) {
        readers_[predecessor].push_back(static_cast<int>(launch));
        ++open_predecessors_[launch];
      }
      if (open_predecessors_[launch] == 0) AddReady(static_cast<int>(launch));
    }
  }

  FluidSchedule Run() {
    StartWhatFits();
    while (!running_.empty()) {
      AdvanceToNextEvent();
      FinishEnded();
      StartWhatFits();
    }
    result_.makespan_us = now_us_;
    return std::move(result_);
  }

 private:
  struct Stream {
    int last = -1;  // launch
    bool is_busy = false;
    double freed_us = -1;  // when its last launch ended; negative before any
  };
  struct Shares {
    double compute = 0;
    double bandwidth = 0;

    void Add(const LaunchMode& mode) {
      compute += mode.compute_share;
      bandwidth += mode.bandwidth_share;
    }
    double Largest() const { return std::max(compute, bandwidth); }
  };

  bool IsWhole(int launch) const { return !options_.whole.empty() && options_.whole[launch]; }

  const LaunchMode& ModeOfLaunch(int launch) const {
    return ModeOf(problem_, {.launch = launch, .whole = IsWhole(launch)});
  }

  void AddReady(int launch) {
    const auto place = std::find_if(ready_.begin(), ready_.end(), [&](int other) {
      const double us = options_.priority_us[launch];
      const double other_us = options_.priority_us[other];
      return us > other_us || (us == other_us && launch < other);
    });
    ready_.insert(place, launch);
  }

  // Something always runs while anything is left, however much it wants.
  void StartWhatFits() {
    Shares shares;
    for (const int launch : running_) shares.Add(ModeOfLaunch(launch));
    std::vector<int> waiting;
    for (const int launch : ready_) {
      Shares with = shares;
      with.Add(ModeOfLaunch(launch));
      const bool fits = running_.empty() || with.Largest() <= options_.share_max;
      if (fits && running_.size() < streams_.size()) {
        Start(launch);
        shares = with;
      } else {
        waiting.push_back(launch);
      }
    }
    ready_ = std::move(waiting);
  }

  void Start(int launch) {
    const int chosen = StreamFor(launch);
    Stream& stream = streams_[chosen];
    const SimulatorOptions& overheads = problem_.device.overheads;
    double begin_us =
        std::max({now_us_, stream.freed_us + overheads.launch_gap_us, overheads.launch_gap_us});
    for (const int predecessor : problem_.launches[launch].predecessors) {
      const bool hands_over = stream_of_[predecessor] != chosen;
      begin_us = std::max(begin_us, finish_us_[predecessor] + overheads.launch_gap_us +
                                        (hands_over ? overheads.cross_stream_us : 0));
    }
    begin_us_[launch] = begin_us;
    remaining_us_[launch] = ModeOfLaunch(launch).latency_us;
    stream_of_[launch] = chosen;
    stream.is_busy = true;
    stream.last = launch;
    running_.push_back(launch);
    result_.schedule.push_back({launch, chosen, IsWhole(launch)});
  }

  // That of the predecessor that ended last, where nothing came behind it; else the one freed last.
  int StreamFor(int launch) const {
    int best = -1;
    for (const int predecessor : problem_.launches[launch].predecessors) {
      const Stream& stream = streams_[stream_of_[predecessor]];
      if (stream.is_busy || stream.last != predecessor) continue;
      if (best < 0 || stream.freed_us > streams_[best].freed_us) best = stream_of_[predecessor];
    }
    if (best >= 0) return best;
    for (int stream = 0; stream < static_cast<int>(streams_.size()); ++stream) {
      if (streams_[stream].is_busy) continue;
      if (best < 0 || streams_[stream].freed_us > streams_[best].freed_us) best = stream;
    }
    return best;
  }

  // To the first end of a launch, or the first begin of one that is still to be handed over.
  void AdvanceToNextEvent() {
    Shares shares;
    for (const int launch : running_) {
      if (begin_us_[launch] <= now_us_) shares.Add(ModeOfLaunch(launch));
    }
    const double slowdown = std::max(1.0, shares.Largest());
    const auto event_us = [&](int launch) {
      const bool has_begun = begin_us_[launch] <= now_us_;
      return has_begun ? now_us_ + remaining_us_[launch] * slowdown : begin_us_[launch];
    };
    const int next = *std::min_element(running_.begin(), running_.end(),
                                       [&](int a, int b) { return event_us(a) < event_us(b); });
    const double next_us = event_us(next);
    for (const int launch : running_) {
      if (begin_us_[launch] > now_us_) continue;
      // What ends now has nothing left, whatever rounding says, so that time goes on.
      remaining_us_[launch] =
          launch == next ? 0 : remaining_us_[launch] - (next_us - now_us_) / slowdown;
    }
    now_us_ = next_us;
  }

  // Rounding leaves up to a part in 10^9, as in the simulator.
  void FinishEnded() {
    std::vector<int> still_running;
    std::vector<int> ended;
    for (const int launch : running_) {
      const bool ends = begin_us_[launch] <= now_us_ &&
                        remaining_us_[launch] <= 1e-9 * (1 + ModeOfLaunch(launch).latency_us);
      (ends ? ended : still_running).push_back(launch);
    }
    running_ = std::move(still_running);
    for (const int launch : ended) {
      finish_us_[launch] = now_us_;
      streams_[stream_of_[launch]].is_busy = false;
      streams_[stream_of_[launch]].freed_us = now_us_;
      for (const int reader : readers_[launch]) {
        if (--open_predecessors_[reader] == 0) AddReady(reader);
      }
    }
  }

  const ScheduleProblem& problem_;
  const FluidOptions& options_;
  std::vector<std::vector<int>> readers_;
  std::vector<int> open_predecessors_;
  std::vector<int> stream_of_;
  std::vector<double> begin_us_;
  std::vector<double> remaining_us_;
  std::vector<double> finish_us_;
  std::vector<Stream> streams_;
  std::vector<int> ready_;    // by priority
  std::vector<int> running_;  // those that are handed over included
  double now_us_ = 0;
  FluidSchedule result_;
};

}  // namespace

FluidSchedule ScheduleFluid(const ScheduleProblem& problem, const FluidOptions& options) {
  return FluidScheduler(problem, options).Run();
}

}  // namespace plait
