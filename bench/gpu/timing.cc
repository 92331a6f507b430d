#include "bench/gpu/timing.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace plait::cuda {
namespace {

double Quantile(std::vector<double>* values, double fraction) {
  const auto at = static_cast<size_t>(fraction * static_cast<double>(values->size() - 1) + 0.5);
  std::nth_element(values->begin(), values->begin() + static_cast<std::ptrdiff_t>(at),
                   values->end());
  return (*values)[at];
}

// Events that give themselves back.
class Events {
 public:
  explicit Events(Runtime* runtime) : runtime_(runtime) {}
  ~Events() {
    for (Event event : events_) static_cast<void>(runtime_->DestroyEvent(event).ok());
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  Status Record(Stream stream) {
    const Result<Event> event = runtime_->CreateEvent();
    if (!event.ok()) return event.error();
    events_.push_back(event.value());
    return runtime_->RecordEvent(event.value(), stream);
  }
  Event operator[](size_t i) const { return events_[i]; }

 private:
  Runtime* const runtime_;
  std::vector<Event> events_;
};

Result<std::vector<double>> SampleOnce(Session* session, const ExecutableGraph& graph,
                                       const SampleOptions& options) {
  Runtime& runtime = session->runtime();
  Events events(&runtime);
  for (int i = 0; i <= options.samples; ++i) {
    if (options.flush) PLAIT_CUDA_RETURN_IF_ERROR(session->FlushL2());
    PLAIT_CUDA_RETURN_IF_ERROR(events.Record(session->stream()));
    PLAIT_CUDA_RETURN_IF_ERROR(graph.Launch(session->stream()));
    PLAIT_CUDA_RETURN_IF_ERROR(events.Record(session->stream()));
  }
  PLAIT_CUDA_RETURN_IF_ERROR(runtime.Synchronize(session->stream()));
  std::vector<double> samples_us;
  for (int i = 1; i <= options.samples; ++i) {
    const Result<double> elapsed_us = runtime.ElapsedUs(events[2 * i], events[2 * i + 1]);
    if (!elapsed_us.ok()) return elapsed_us.error();
    samples_us.push_back(elapsed_us.value() / options.launches_per_graph);
  }
  return samples_us;
}

}  // namespace

Timing Summarize(std::vector<double> samples_us) {
  Timing timing;
  if (samples_us.empty()) return timing;
  timing.samples = static_cast<int>(samples_us.size());
  timing.median_us = Quantile(&samples_us, 0.5);
  timing.p10_us = Quantile(&samples_us, 0.1);
  for (double& sample : samples_us) sample = std::fabs(sample - timing.median_us);
  timing.mad_us = Quantile(&samples_us, 0.5);
  return timing;
}

Result<std::vector<double>> SampleGraph(Session* session, const ExecutableGraph& graph,
                                        const SampleOptions& options) {
  std::vector<double> samples_us;
  const Result<double> sum_us = session->clock().TimeSteady([&]() -> Result<double> {
    Result<std::vector<double>> taken = SampleOnce(session, graph, options);
    if (!taken.ok()) return taken.error();
    samples_us = std::move(taken).value();
    return std::accumulate(samples_us.begin(), samples_us.end(), 0.0);
  });
  if (!sum_us.ok()) return sum_us.error();
  return samples_us;
}

Result<ExecutableGraph> BuildChain(Session* session, int count,
                                   const std::function<Status(int index, Stream)>& launch,
                                   std::shared_ptr<const void> resources,
                                   std::vector<NodeDescription>* nodes) {
  return BuildChain(&session->runtime(), count, launch, {session->memory(), std::move(resources)},
                    nodes);
}

}  // namespace plait::cuda
