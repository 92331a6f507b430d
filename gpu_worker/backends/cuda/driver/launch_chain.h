#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "gpu_worker/backends/cuda/driver/graph_builder.h"

namespace plait::cuda {

// A graph of `count` launches, each after the one before. It keeps `used`, which the launches refer
// to. In a graph a kernel takes what it takes between its neighbours; launched by a stream, a short
// one takes as long as the host needs to launch it.
// `nodes` gets what one launch captures, or stays as it is where that cannot be read.
// Errors: those of `launch` and of the graph.
Result<ExecutableGraph> BuildChain(Runtime* runtime, int count,
                                   const std::function<Status(int index, Stream)>& launch,
                                   const Kept& used, std::vector<NodeDescription>* nodes = nullptr);

// What lies between two events around `enqueue`, in microseconds. Waits for it.
// Errors: those of `enqueue` and of the events.
Result<double> SpanUs(Runtime* runtime, Stream stream, const std::function<Status()>& enqueue);

// The share of the multiprocessors' room that the kernels' blocks take, at most 1: the largest of
// the kernels. 1 where nothing is known.
double ComputeShare(const std::vector<NodeDescription>& nodes, int multiprocessors);

}  // namespace plait::cuda
