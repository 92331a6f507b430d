#include "gpu_worker/backends/cuda/run/graph_start.h"

#include <algorithm>
#include <string>
#include <vector>

#include "gpu_worker/backends/cuda/driver/launch_chain.h"
#include "gpu_worker/backends/cuda/driver/nvrtc.h"
#include "gpu_worker/backends/cuda/driver/owned.h"

namespace plait::cuda {
namespace {

constexpr char kSource[] = "extern \"C\" __global__ void plait_nothing() {}\n";
constexpr int kChainLaunches = 50;
// Odd: the median is one of them.
constexpr int kSamples = 15;

// The median of some spans of the graph; before each comes `before`, outside of it.
Result<double> MedianSpanUs(Runtime* runtime, Stream stream, const ExecutableGraph& graph,
                            const std::function<Status(Stream)>& before) {
  std::vector<double> spans_us;
  for (int i = 0; i < kSamples; ++i) {
    PLAIT_CUDA_RETURN_IF_ERROR(before(stream));
    const Result<double> span = SpanUs(runtime, stream, [&] { return graph.Launch(stream); });
    if (!span.ok()) return span.error();
    spans_us.push_back(span.value());
  }
  std::sort(spans_us.begin(), spans_us.end());
  return spans_us[kSamples / 2];
}

}  // namespace

Result<double> MeasureGraphStartUs(Runtime* runtime, const DeviceFacts& facts, Stream stream,
                                   const std::function<Status(Stream)>& evict) {
  const Result<std::string> cubin =
      CompileToCubin(kSource, ArchitectureOf(facts.sm_major, facts.sm_minor));
  if (!cubin.ok()) return cubin.error();
  const Result<Library> loaded = runtime->LoadLibrary(cubin.value());
  if (!loaded.ok()) return loaded.error();
  const OwnedLibrary library(runtime, loaded.value());
  const Result<Kernel> kernel = runtime->FindKernel(library.get(), "plait_nothing");
  if (!kernel.ok()) return kernel.error();
  const auto launch = [&](int, Stream captured) {
    return runtime->LaunchKernel(kernel.value(), LaunchShape(), nullptr, captured);
  };
  const Result<ExecutableGraph> one = BuildChain(runtime, 1, launch, {});
  if (!one.ok()) return one.error();
  const Result<ExecutableGraph> many = BuildChain(runtime, kChainLaunches, launch, {});
  if (!many.ok()) return many.error();
  const Result<double> alone_us = MedianSpanUs(runtime, stream, one.value(), evict);
  if (!alone_us.ok()) return alone_us.error();
  const Result<double> chain_us = MedianSpanUs(runtime, stream, many.value(), evict);
  if (!chain_us.ok()) return chain_us.error();
  // Of n in a graph, all but the first take what one takes behind another.
  const double behind_us = (chain_us.value() - alone_us.value()) / (kChainLaunches - 1);
  return std::max(0.0, alone_us.value() - std::max(0.0, behind_us));
}

}  // namespace plait::cuda
