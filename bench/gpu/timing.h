#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "bench/gpu/session.h"
#include "gpu_worker/backends/cuda/driver/clock_watch.h"
#include "gpu_worker/backends/cuda/driver/launch_chain.h"

namespace plait::cuda {

// Of one launch, in us.
struct Timing {
  double median_us = 0;
  double p10_us = 0;
  double mad_us = 0;  // median absolute deviation
  int samples = 0;
  ClockSeen clock;  // while they were taken
};

// Errors: none; all zero for no samples.
Timing Summarize(std::vector<double> samples_us);

struct SampleOptions {
  int launches_per_graph = 1;  // by which a graph's time is divided
  int samples = 10;
  bool flush = false;  // the L2, before each graph and outside of the measured time
};

// Times an executable graph on the session's stream, with event pairs around single graph launches
// that are enqueued one behind the other, so that no launch waits for the host. The first sample
// is thrown away; all are, and are taken again, while the clock moves (ClockWatch). Errors:
// kDevice.
Result<std::vector<double>> SampleGraph(Session* session, const ExecutableGraph& graph,
                                        const SampleOptions& options);

// BuildChain() of launch_chain.h, whose graph keeps the session's memory and `resources`.
Result<ExecutableGraph> BuildChain(Session* session, int count,
                                   const std::function<Status(int index, Stream)>& launch,
                                   std::shared_ptr<const void> resources = nullptr,
                                   std::vector<NodeDescription>* nodes = nullptr);

}  // namespace plait::cuda
