#include "optimizer/schedule/fluid_schedule.h"

#include <algorithm>
#include <numeric>
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
        first_reader_(problem.launches.size() + 1, 0),
        open_predecessors_(problem.launches.size(), 0),
        stream_of_(problem.launches.size(), -1),
        begin_us_(problem.launches.size(), 0),
        remaining_us_(problem.launches.size(), 0),
        finish_us_(problem.launches.size(), 0),
        streams_(std::max(1, problem.device.streams_max)) {
    ListReaders();
    for (size_t launch = 0; launch < problem.launches.size(); ++launch) {
      open_predecessors_[launch] = static_cast<int>(problem.launches[launch].predecessors.size());
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

  // Those of each launch side by side, ascending: one list a launch would be hundreds of them in
  // each of hundreds of schedules.
  void ListReaders() {
    for (const Launch& launch : problem_.launches) {
      for (const int predecessor : launch.predecessors) ++first_reader_[predecessor + 1];
    }
    std::partial_sum(first_reader_.begin(), first_reader_.end(), first_reader_.begin());
    readers_.resize(first_reader_.back());
    std::vector<size_t> next(first_reader_.begin(), first_reader_.end() - 1);
    for (size_t launch = 0; launch < problem_.launches.size(); ++launch) {
      for (const int predecessor : problem_.launches[launch].predecessors) {
        readers_[next[predecessor]++] = static_cast<int>(launch);
      }
    }
  }

  bool IsWhole(int launch) const { return !options_.whole.empty() && options_.whole[launch]; }

  const LaunchMode& ModeOfLaunch(int launch) const {
    const Launch& each = problem_.launches[launch];
    return IsWhole(launch) ? each.whole : each.part;
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
    size_t waiting = 0;
    for (const int launch : ready_) {
      Shares with = shares;
      with.Add(ModeOfLaunch(launch));
      const bool fits = running_.empty() || with.Largest() <= options_.share_max;
      if (fits && running_.size() < streams_.size()) {
        Start(launch);
        shares = with;
      } else {
        ready_[waiting++] = launch;
      }
    }
    ready_.resize(waiting);
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
    int next = running_.front();
    double next_us = event_us(next);
    for (const int launch : running_) {
      const double us = event_us(launch);
      if (us >= next_us) continue;
      next = launch;
      next_us = us;
    }
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
    ended_.clear();
    size_t kept = 0;
    for (const int launch : running_) {
      const bool ends = begin_us_[launch] <= now_us_ &&
                        remaining_us_[launch] <= 1e-9 * (1 + ModeOfLaunch(launch).latency_us);
      if (ends) {
        ended_.push_back(launch);
      } else {
        running_[kept++] = launch;
      }
    }
    running_.resize(kept);
    for (const int launch : ended_) {
      finish_us_[launch] = now_us_;
      streams_[stream_of_[launch]].is_busy = false;
      streams_[stream_of_[launch]].freed_us = now_us_;
      for (size_t i = first_reader_[launch]; i < first_reader_[launch + 1]; ++i) {
        if (--open_predecessors_[readers_[i]] == 0) AddReady(readers_[i]);
      }
    }
  }

  const ScheduleProblem& problem_;
  const FluidOptions& options_;
  std::vector<size_t> first_reader_;  // of each launch in readers_, and behind the last
  std::vector<int> readers_;
  std::vector<int> open_predecessors_;
  std::vector<int> stream_of_;
  std::vector<double> begin_us_;
  std::vector<double> remaining_us_;
  std::vector<double> finish_us_;
  std::vector<Stream> streams_;
  std::vector<int> ready_;    // by priority
  std::vector<int> running_;  // those that are handed over included
  std::vector<int> ended_;    // at now_us_
  double now_us_ = 0;
  FluidSchedule result_;
};

}  // namespace

FluidSchedule ScheduleFluid(const ScheduleProblem& problem, const FluidOptions& options) {
  return FluidScheduler(problem, options).Run();
}

}  // namespace plait
