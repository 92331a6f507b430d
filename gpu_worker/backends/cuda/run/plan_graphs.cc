#include "gpu_worker/backends/cuda/run/plan_graphs.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/cuda/run/cuda_status.h"
#include "gpu_worker/backends/cuda/run/plan_memory.h"

namespace plait::cuda {
namespace {

// 8: where a step that does nothing is behind more operations than that, a node that joins them is
// cheaper than an edge from each of them to each that comes behind it.
constexpr size_t kJoinedMax = 8;
// One above the others'.
constexpr int kLongestPathPriority = -1;

// One graph in the making. Its steps are those from `first` on.
class GraphOfSteps {
 public:
  GraphOfSteps(Runtime* runtime, const Plan& plan, const std::vector<StepProblem>& work, int first)
      : builder_(runtime), plan_(plan), work_(work), first_(first) {}

  absl::Status Add(int step, const StepLaunch& launch) {
    PLAIT_ASSIGN_OR_RETURN(const std::vector<Before> before, BeforeOf(step));
    std::vector<int> ends;
    if (launch.enqueue == nullptr) {
      for (const Before& one : before) ends.push_back(one.operation);
      std::sort(ends.begin(), ends.end());
      ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    }
    if (launch.enqueue != nullptr || ends.size() > kJoinedMax) {
      PLAIT_ASSIGN_OR_RETURN(const int operation, AddOperation(step, launch));
      for (const Before& one : before) {
        PLAIT_RETURN_IF_ERROR(ToStatus(builder_.AddEdge(one.operation, operation, one.reason)));
        before_.back().push_back(one.operation);
      }
      ends = {operation};
    }
    ends_.push_back(std::move(ends));
    last_of_stream_.resize(static_cast<size_t>(plan_.streams), -1);
    last_of_stream_[plan_.steps[step].stream] = step;
    if (IsAlone(plan_, work_, step)) {
      last_alone_ = step;
      since_alone_.clear();
    }
    since_alone_.push_back(step);
    return absl::OkStatus();
  }

  // Steps that do nothing make no graph.
  bool has_operations() const { return has_operations_; }

  absl::StatusOr<ExecutableGraph> Build() {
    if (plan_.streams > 1) PrioritizeLongestPaths();
    return ToStatusOr(builder_.Build());
  }

 private:
  // An operation that ends before a step begins, and why.
  struct Before {
    int operation;
    EdgeReason reason;
  };

  absl::StatusOr<int> AddOperation(int step, const StepLaunch& launch) {
    const auto enqueue = [&](Stream stream) {
      return launch.enqueue == nullptr ? Ok() : launch.enqueue(stream);
    };
    has_operations_ = true;
    builder_.Keep(launch.resources);
    PLAIT_ASSIGN_OR_RETURN(
        const int operation,
        ToStatusOr(builder_.AddOperation(
            absl::StrCat("step ", step, " ", plan_.steps[step].kernel.family), enqueue)));
    if (launch.waits_by_itself) builder_.LetBeginEarly(operation);
    before_.emplace_back();
    return operation;
  }

  absl::StatusOr<std::vector<Before>> BeforeOf(int step) const {
    std::vector<Before> before;
    const auto add = [&](int earlier, EdgeReason reason) {
      // What was before this graph is before all of it.
      if (earlier < first_) return;
      for (const int operation : ends_[earlier - first_]) before.push_back({operation, reason});
    };
    if (IsAlone(plan_, work_, step)) {
      for (const int earlier : since_alone_) add(earlier, EdgeReason::kStageBarrier);
      return before;
    }
    const int stream = plan_.steps[step].stream;
    if (!last_of_stream_.empty()) add(last_of_stream_[stream], EdgeReason::kStreamOrder);
    add(last_alone_, EdgeReason::kStageBarrier);
    for (const int wait : plan_.steps[step].waits) add(wait, EdgeReason::kData);
    return before;
  }

  // Where kernels of several paths could be taken, those of the longest ones are: by the number of
  // operations, since a plan knows no times.
  void PrioritizeLongestPaths() {
    const int count = static_cast<int>(before_.size());
    std::vector<int> ahead(count, 1), behind(count, 1);
    for (int operation = 0; operation < count; ++operation) {
      for (const int earlier : before_[operation]) {
        ahead[operation] = std::max(ahead[operation], ahead[earlier] + 1);
      }
    }
    for (int operation = count; operation-- > 0;) {
      for (const int earlier : before_[operation]) {
        behind[earlier] = std::max(behind[earlier], behind[operation] + 1);
      }
    }
    const int longest = count == 0 ? 0 : *std::max_element(ahead.begin(), ahead.end());
    for (int operation = 0; operation < count; ++operation) {
      if (ahead[operation] + behind[operation] - 1 < longest) continue;
      builder_.SetPriority(operation, kLongestPathPriority);
    }
  }

  FlatGraphBuilder builder_;
  const Plan& plan_;
  const std::vector<StepProblem>& work_;
  const int first_;
  bool has_operations_ = false;
  std::vector<std::vector<int>> before_;  // by operation: earlier ones, as they are numbered
  std::vector<std::vector<int>> ends_;    // by step: the operations that have ended when it has
  std::vector<int> last_of_stream_;
  int last_alone_ = -1;
  std::vector<int> since_alone_;  // the last that ran alone, and all behind it
};

}  // namespace

absl::StatusOr<std::vector<PlanSegment>> BuildGraphs(Runtime* runtime, const Plan& plan,
                                                     const std::vector<StepProblem>& work,
                                                     const std::vector<StepLaunch>& launches) {
  std::vector<PlanSegment> segments;
  std::unique_ptr<GraphOfSteps> open;
  const auto close = [&]() -> absl::Status {
    if (open != nullptr && open->has_operations()) {
      PLAIT_ASSIGN_OR_RETURN(ExecutableGraph graph, open->Build());
      segments.push_back({.graph = std::move(graph)});
    }
    open = nullptr;
    return absl::OkStatus();
  };
  for (int step = 0; step < static_cast<int>(plan.steps.size()); ++step) {
    if (work[step].kind == StepProblem::Kind::kHost) {
      PLAIT_RETURN_IF_ERROR(close());
      segments.push_back({.host_step = step});
      continue;
    }
    if (open == nullptr) open = std::make_unique<GraphOfSteps>(runtime, plan, work, step);
    PLAIT_RETURN_IF_ERROR(Annotate(open->Add(step, launches[step]), absl::StrCat("step ", step)));
  }
  PLAIT_RETURN_IF_ERROR(close());
  return segments;
}

}  // namespace plait::cuda
