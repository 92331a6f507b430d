#include "gpu_worker/backends/cuda/run/prepare_candidates.h"

#include <algorithm>
#include <condition_variable>
#include <latch>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

namespace plait::cuda {

#define PLAIT_CANDIDATE_SOURCE(name, constant) extern const CandidateSource constant;
#include "gpu_worker/backends/cuda/candidate_sources.def"
#undef PLAIT_CANDIDATE_SOURCE

namespace {

constexpr const CandidateSource* kSources[] = {
#define PLAIT_CANDIDATE_SOURCE(name, constant) &constant,
#include "gpu_worker/backends/cuda/candidate_sources.def"
#undef PLAIT_CANDIDATE_SOURCE
};

// Each thread of a library has a handle of its own, with memory of the device behind it.
constexpr size_t kThreadsMax = 16;
// What is prepared ahead of what is timed: candidates and trials take memory until then.
constexpr size_t kStepsAhead = 48;
// Of a library's candidates that it compiles when they are built, the first few: each takes up to a
// second, and they are much alike.
constexpr int kRuntimeCompiledMax = 3;
// Of candidates that are prepared together. NVRTC takes 0.43 of the time for 16 kernels, and little
// less for more.
constexpr size_t kTogetherMax = 16;

// Whether the source's kernels are our own text, which a simulated device runs too.
bool IsGenerated(const CandidateSource& source) {
  return absl::string_view(source.name) == "generated";
}

// A candidate, and what came of preparing it.
struct Listed {
  const CandidateSource* source;
  std::unique_ptr<Candidate> candidate;
  Status status = Ok();
};

// Those that are worth preparing. Why a source has none is added to `reasons`.
std::vector<Listed> List(const StepProblem& step, const CudaDevice& device, bool has_libraries,
                         std::string* reasons) {
  std::vector<Listed> listed;
  const int compiled_max = RuntimeCompiledMax(step.problem.problem);
  int runtime_compiled = 0;
  for (SourceAnswer& answer : AskSources(step, device, has_libraries)) {
    if (!answer.candidates.ok()) {
      absl::StrAppend(reasons, "; ", answer.source->name, ": ", answer.candidates.error().message);
      continue;
    }
    if (answer.candidates.value().empty()) {
      absl::StrAppend(reasons, "; ", answer.source->name, ": none");
    }
    for (std::unique_ptr<Candidate>& candidate : answer.candidates.value()) {
      if (!step.implementation.empty() && candidate->name() != step.implementation) continue;
      if (IsRuntimeCompiled(*candidate) && runtime_compiled++ >= compiled_max) continue;
      listed.push_back({answer.source, std::move(candidate)});
    }
  }
  return listed;
}

// A step on its way. Tasks of one touch different fields.
struct Item {
  const StepProblem* step;
  std::vector<Listed> listed;
  std::string reasons;
  TrialData trial;
  int tasks_left = 1;  // guarded; the first one lists candidates
};

PreparedStep Finish(Item item) {
  PreparedStep prepared{.reasons = std::move(item.reasons), .trial = std::move(item.trial)};
  for (Listed& listed : item.listed) {
    if (listed.status.ok()) {
      prepared.candidates.push_back(std::move(listed.candidate));
    } else {
      absl::StrAppend(&prepared.reasons, "; ", listed.status.error().message);
    }
  }
  return prepared;
}

// A step with the number of a candidate, or with one of these.
using Task = std::pair<size_t, int>;
constexpr int kListing = -2;
constexpr int kTrial = -1;

// Candidates of many steps have to be known for some to be prepared together.
struct ListingsFirst {
  bool operator()(const Task& one, const Task& other) const {
    const bool is_listing = one.second == kListing;
    if (is_listing != (other.second == kListing)) return is_listing;
    return one < other;
  }
};

// Threads that take tasks: listings first, then those of earlier steps.
class Preparation {
 public:
  // `threads` of the host work until it goes. Each has asked the device for its health when this
  // returns: that waits for all streams, of which none may capture at that moment.
  Preparation(absl::Span<const StepProblem* const> steps, const CudaDevice& device,
              bool has_libraries, Prepared prepared, size_t threads)
      : device_(device),
        has_libraries_(has_libraries),
        prepared_(prepared),
        threads_max_(threads),
        have_asked_(static_cast<std::ptrdiff_t>(threads)) {
    for (const StepProblem* step : steps) items_.push_back({.step = step});
    for (size_t t = 0; t < threads; ++t) threads_.emplace_back([this] { Work(); });
    have_asked_.wait();
  }

  ~Preparation() { End(); }

  // Waits for a step. False: it will not come.
  bool Await(size_t item, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    for (; admitted_ < std::min(items_.size(), item + kStepsAhead); ++admitted_) {
      tasks_.insert({admitted_, kListing});
    }
    has_tasks_.notify_all();
    is_done_.wait(lock, stop, [&] { return has_ended_ || items_[item].tasks_left == 0; });
    return items_[item].tasks_left == 0;
  }

  Item Take(size_t item) { return std::move(items_[item]); }

 private:
  void Work() {
    // A library makes its handle for the context that is current in the thread.
    const bool is_well = device_.runtime->CheckHealth().ok();
    have_asked_.count_down();
    if (!is_well) return End();
    std::unique_lock lock(mutex_);
    while (true) {
      has_tasks_.wait(lock, [&] { return has_ended_ || !tasks_.empty(); });
      if (has_ended_) return;
      const std::vector<Task> taken = Take();
      lock.unlock();
      if (taken[0].second < 0) {
        Do(items_[taken[0].first], taken[0].second);
      } else {
        Prepare(taken);
      }
      lock.lock();
      for (const auto& [item, task] : taken) {
        if (task == kListing) AddTasks(item);
        if (--items_[item].tasks_left == 0) is_done_.notify_all();
      }
    }
  }

  // The first task, and those that it is done together with: no more than leave some for the other
  // threads. REQUIRES: the lock is held, and there is one.
  std::vector<Task> Take() {
    std::vector<Task> taken = {*tasks_.begin()};
    const CandidateSource* const source = SourceOf(taken[0]);
    const bool is_alone = source == nullptr || source->prepare_together == nullptr;
    const size_t count =
        is_alone ? 1 : std::clamp<size_t>(tasks_.size() / threads_max_, 1, kTogetherMax);
    for (auto at = tasks_.begin(); at != tasks_.end() && taken.size() < count; ++at) {
      if (at != tasks_.begin() && SourceOf(*at) == source) taken.push_back(*at);
    }
    for (const Task& task : taken) tasks_.erase(task);
    return taken;
  }

  // Null: the task prepares no candidate.
  const CandidateSource* SourceOf(const Task& task) const {
    return task.second < 0 ? nullptr : items_[task.first].listed[task.second].source;
  }

  void Do(Item& item, int task) const {
    if (task == kListing) {
      item.listed = List(*item.step, device_, has_libraries_, &item.reasons);
      if (prepared_ == Prepared::kFirst && item.listed.size() > 1) item.listed.resize(1);
    } else {
      item.trial =
          MakeTrialData(*item.step, prepared_ == Prepared::kAll ? kReferenceOperationsMax
                                                                : kLoneReferenceOperationsMax);
    }
  }

  void Prepare(const std::vector<Task>& tasks) {
    std::vector<Candidate*> candidates;
    for (const auto& [item, task] : tasks) {
      candidates.push_back(items_[item].listed[task].candidate.get());
    }
    if (tasks.size() > 1) SourceOf(tasks[0])->prepare_together(candidates);
    for (size_t i = 0; i < tasks.size(); ++i) {
      items_[tasks[i].first].listed[tasks[i].second].status = candidates[i]->Prepare();
    }
  }

  // REQUIRES: the lock is held.
  void AddTasks(size_t item) {
    const int count = static_cast<int>(items_[item].listed.size());
    for (int task = count > 0 ? kTrial : 0; task < count; ++task) {
      tasks_.insert({item, task});
      ++items_[item].tasks_left;
    }
    has_tasks_.notify_all();
  }

  void End() {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    has_tasks_.notify_all();
    is_done_.notify_all();
  }

  const CudaDevice& device_;
  const bool has_libraries_;
  const Prepared prepared_;
  const size_t threads_max_;
  std::latch have_asked_;
  std::vector<Item> items_;
  std::mutex mutex_;
  std::condition_variable has_tasks_;
  std::condition_variable_any is_done_;
  std::set<Task, ListingsFirst> tasks_;
  size_t admitted_ = 0;
  bool has_ended_ = false;
  std::vector<std::jthread> threads_;  // the last member: it goes first
};

// What each source has in one precision.
std::vector<SourceAnswer> Answers(const StepProblem& step, Precision precision,
                                  const CudaDevice& device, bool has_libraries) {
  std::vector<SourceAnswer> answers;
  for (const CandidateSource* source : kSources) {
    if (!has_libraries && !IsGenerated(*source)) {
      const std::string what = "the simulated device has no " + std::string(source->name);
      answers.push_back({source, Error{ErrorCode::kUnavailable, what}});
      continue;
    }
    answers.push_back({source, source->enumerate(step.problem.problem, precision,
                                                 step.problem.layout, step.places, device)});
  }
  return answers;
}

}  // namespace

std::vector<SourceAnswer> AskSources(const StepProblem& step, const CudaDevice& device,
                                     bool has_libraries) {
  std::vector<SourceAnswer> answers = Answers(step, step.problem.precision, device, has_libraries);
  const bool has_any = std::any_of(answers.begin(), answers.end(), [](const SourceAnswer& answer) {
    return answer.candidates.ok() && !answer.candidates.value().empty();
  });
  if (has_any || step.problem.precision != Precision::kTf32) return answers;
  return Answers(step, Precision::kStrict, device, has_libraries);
}

// Of pools that a library compiles none is as fast as ours: those of 42 problems on an H200 took
// 1.2 to 2.5 times as long, and a second each to compile.
int RuntimeCompiledMax(const Problem& problem) {
  return std::holds_alternative<PoolProblem>(problem) ? 0 : kRuntimeCompiledMax;
}

Result<PreparedStep> PrepareFirst(const StepProblem& step, const CudaDevice& device,
                                  bool has_libraries,
                                  absl::FunctionRef<Status(Candidate*)> try_out) {
  Item item = {.step = &step};
  item.listed = List(step, device, has_libraries, &item.reasons);
  for (size_t i = 0; i < item.listed.size(); ++i) {
    Listed& listed = item.listed[i];
    listed.status = listed.candidate->Prepare();
    if (!listed.status.ok()) continue;
    listed.status = try_out(listed.candidate.get());
    if (listed.status.ok()) {
      item.listed.resize(i + 1);
    } else if (listed.status.error().code == ErrorCode::kDevice) {
      return listed.status.error();
    }
  }
  return Finish(std::move(item));
}

void PrepareSteps(absl::Span<const StepProblem* const> steps, const CudaDevice& device,
                  bool has_libraries, Prepared prepared, const std::stop_token& stop,
                  absl::FunctionRef<void(const StepProblem&, PreparedStep)> then) {
  if (steps.empty()) return;
  const size_t threads = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, kThreadsMax);
  Preparation preparation(steps, device, has_libraries, prepared, threads);
  for (size_t i = 0; i < steps.size(); ++i) {
    if (!preparation.Await(i, stop)) return;
    then(*steps[i], Finish(preparation.Take(i)));
  }
}

}  // namespace plait::cuda
