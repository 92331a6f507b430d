#include "optimizer/schedule/list_schedule.h"

#include <algorithm>

// Two streams; a launch takes the whole device for the first time, or half of it for the second:
//
//   0: 4 or 6 us           1: 2 or 2 us, after 0    2: 5 or 8 us, after 0
//   3: 2 or 3 us, after 1  4: 3 or 4 us, after 2 and 3
//
// With automatic widths launch 0 runs whole, since nothing could run beside it, until 4. Then 1 and
// 2 are ready; 2 has the longer path (8 + 4) and goes first, narrow because 1 can run beside it, on
// the stream of its predecessor 0, until 12. Launch 1 runs on the other stream until 6, 3 behind it
// until 9. Launch 4 is alone again and runs whole, from 12 to 15. All narrow it would be 18 us, all
// whole 16.
//
// The order and the rule are LIOS's (IEEE TSC 2023). O(N * ready launches * streams + edges).

namespace plait {
namespace {

class ListScheduler {
 public:
  ListScheduler(const ScheduleProblem& problem, const std::vector<WidthChoice>& widths)
      : problem_(problem),
        widths_(widths),
        stream_free_us_(std::max(1, problem.device.streams_max), 0),
        readers_(problem.launches.size()),
        open_predecessors_(problem.launches.size(), 0),
        ready_us_(problem.launches.size(), 0),
        path_us_(problem.launches.size(), 0),
        place_(problem.launches.size(), -1) {
    for (size_t launch = 0; launch < problem.launches.size(); ++launch) {
      for (const int predecessor : problem.launches[launch].predecessors) {
        readers_[predecessor].push_back(static_cast<int>(launch));
        ++open_predecessors_[launch];
      }
    }
    for (size_t launch = problem.launches.size(); launch-- > 0;) {
      for (const int reader : readers_[launch]) {
        path_us_[launch] = std::max(path_us_[launch], path_us_[reader]);
      }
      path_us_[launch] += problem.launches[launch].part.latency_us;
      if (open_predecessors_[launch] == 0) ready_.push_back(static_cast<int>(launch));
    }
  }

  Schedule Run() {
    while (!ready_.empty()) {
      const size_t choice = ChooseReady();
      const int launch = ready_[choice];
      const bool whole = ChooseWhole(launch);
      ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(choice));
      Place(launch, whole);
    }
    return std::move(schedule_);
  }

 private:
  int FirstFreeStream() const {
    return static_cast<int>(std::min_element(stream_free_us_.begin(), stream_free_us_.end()) -
                            stream_free_us_.begin());
  }

  double StartUs(int launch) const {
    return std::max(ready_us_[launch], stream_free_us_[FirstFreeStream()]);
  }

  size_t ChooseReady() const {
    size_t best = 0;
    for (size_t i = 1; i < ready_.size(); ++i) {
      const double start_us = StartUs(ready_[i]);
      const double best_start_us = StartUs(ready_[best]);
      if (start_us > best_start_us) continue;
      const bool starts_earlier = start_us < best_start_us;
      const double path_us = path_us_[ready_[i]];
      const double best_path_us = path_us_[ready_[best]];
      const bool is_longer = path_us > best_path_us;
      const bool is_first = path_us == best_path_us && ready_[i] < ready_[best];
      if (starts_earlier || is_longer || is_first) best = i;
    }
    return best;
  }

  double AllFreeUs() const {
    return *std::max_element(stream_free_us_.begin(), stream_free_us_.end());
  }

  bool ChooseWhole(int launch) const {
    if (widths_[launch] != WidthChoice::kAuto) return widths_[launch] == WidthChoice::kWhole;
    const double part_finish_us = StartUs(launch) + problem_.launches[launch].part.latency_us;
    for (const int other : ready_) {
      // Something could run beside it.
      if (other != launch && ready_us_[other] < part_finish_us) return false;
    }
    const double whole_start_us = std::max(ready_us_[launch], AllFreeUs());
    return whole_start_us + problem_.launches[launch].whole.latency_us <= part_finish_us;
  }

  void Place(int launch, bool whole) {
    const LaunchMode& mode =
        whole ? problem_.launches[launch].whole : problem_.launches[launch].part;
    const double gap_us = problem_.device.overheads.launch_gap_us;
    double finish_us = 0;
    int stream = 0;
    if (mode.alone) {
      finish_us = std::max(ready_us_[launch], AllFreeUs()) + gap_us + mode.latency_us;
      std::fill(stream_free_us_.begin(), stream_free_us_.end(), finish_us);
    } else {
      stream = StreamFor(launch);
      finish_us = std::max(ready_us_[launch], stream_free_us_[stream]) + gap_us + mode.latency_us;
      stream_free_us_[stream] = finish_us;
    }
    place_[launch] = static_cast<int>(schedule_.size());
    schedule_.push_back({launch, stream, whole});
    for (const int reader : readers_[launch]) {
      ready_us_[reader] = std::max(ready_us_[reader], finish_us);
      if (--open_predecessors_[reader] == 0) ready_.push_back(reader);
    }
  }

  // The stream on which the launch starts first; among equals the one that ran a predecessor, which
  // saves a hand-over and finds the input in that core's cache: of several the one placed last.
  int StreamFor(int launch) const {
    const double start_us = StartUs(launch);
    int last_place = -1;
    for (const int predecessor : problem_.launches[launch].predecessors) {
      const int place = place_[predecessor];
      const bool is_free = stream_free_us_[schedule_[place].stream] <= start_us;
      if (is_free) last_place = std::max(last_place, place);
    }
    return last_place < 0 ? FirstFreeStream() : schedule_[last_place].stream;
  }

  const ScheduleProblem& problem_;
  const std::vector<WidthChoice>& widths_;
  std::vector<double> stream_free_us_;
  std::vector<std::vector<int>> readers_;
  std::vector<int> open_predecessors_;
  std::vector<double> ready_us_;
  std::vector<double> path_us_;  // longest remaining path, the launch included
  std::vector<int> ready_;
  std::vector<int> place_;  // in the schedule, of launches that have one
  Schedule schedule_;
};

}  // namespace

Schedule ListSchedule(const ScheduleProblem& problem, const std::vector<WidthChoice>& widths) {
  return ListScheduler(problem, widths).Run();
}

}  // namespace plait
