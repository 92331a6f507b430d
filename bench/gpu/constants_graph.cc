#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "bench/gpu/constants.h"

namespace plait::cuda {
namespace {

constexpr long long kSpinCycles = 6000;  // about 3 us
constexpr int kSamples = 40;

using Clock = std::chrono::steady_clock;

double MicrosecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

// Adds an operation that launches one probe. Errors: those of the builder.
Result<int> AddProbe(Session* session, FlatGraphBuilder* builder, Kernel kernel, long long cycles) {
  return builder->AddOperation(
      "probe", [=](Stream stream) { return LaunchProbe(session, kernel, 1, cycles, stream); });
}

Result<Timing> TimeBuilt(Session* session, const FlatGraphBuilder& builder) {
  const Result<ExecutableGraph> graph = builder.Build();
  if (!graph.ok()) return graph.error();
  Result<std::vector<double>> samples =
      SampleGraph(session, graph.value(), {.launches_per_graph = 1, .samples = kSamples});
  if (!samples.ok()) return samples.error();
  return Summarize(std::move(samples).value());
}

Result<Timing> TimeChain(Session* session, Kernel kernel, int count, long long cycles) {
  const Result<ExecutableGraph> graph = BuildChain(session, count, [&](int, Stream stream) {
    return LaunchProbe(session, kernel, 1, cycles, stream);
  });
  if (!graph.ok()) return graph.error();
  Result<std::vector<double>> samples =
      SampleGraph(session, graph.value(), {.launches_per_graph = 1, .samples = kSamples});
  if (!samples.ok()) return samples.error();
  return Summarize(std::move(samples).value());
}

// `parents` roots and a kernel behind all of them; or the other way round.
Result<Timing> TimeFan(Session* session, int width, bool join) {
  FlatGraphBuilder builder(&session->runtime());
  const Result<int> hub = AddProbe(session, &builder, session->probes().spin, kSpinCycles);
  if (!hub.ok()) return hub.error();
  for (int i = 0; i < width; ++i) {
    const Result<int> leaf = AddProbe(session, &builder, session->probes().spin, kSpinCycles);
    if (!leaf.ok()) return leaf.error();
    const int before = join ? leaf.value() : hub.value();
    const int after = join ? hub.value() : leaf.value();
    PLAIT_CUDA_RETURN_IF_ERROR(builder.AddEdge(before, after, EdgeReason::kData));
  }
  return TimeBuilt(session, builder);
}

constexpr int kCrossings = 10;

// Enqueues a chain of kernels to each stream; after each step both wait for one another.
Status EnqueueCrossings(Session* session, Stream other, Event event) {
  Runtime& runtime = session->runtime();
  const Stream own = session->stream();
  for (int i = 0; i < kCrossings; ++i) {
    PLAIT_CUDA_RETURN_IF_ERROR(runtime.RecordEvent(event, own));
    PLAIT_CUDA_RETURN_IF_ERROR(runtime.WaitForEvent(other, event));
    for (Stream stream : {own, other}) {
      PLAIT_CUDA_RETURN_IF_ERROR(
          LaunchProbe(session, session->probes().spin, 1, kSpinCycles, stream));
    }
    PLAIT_CUDA_RETURN_IF_ERROR(runtime.RecordEvent(event, other));
    PLAIT_CUDA_RETURN_IF_ERROR(runtime.WaitForEvent(own, event));
  }
  return Ok();
}

// Captures what `enqueue` enqueues to the session's stream; the capture ends also where that fails.
Result<OwnedGraph> Capture(Session* session, const std::function<Status()>& enqueue) {
  Runtime& runtime = session->runtime();
  PLAIT_CUDA_RETURN_IF_ERROR(runtime.BeginCapture(session->stream()));
  const Status enqueued = enqueue();
  const Result<Graph> captured = runtime.EndCapture(session->stream());
  OwnedGraph graph(&runtime, captured.ok() ? captured.value() : nullptr);
  PLAIT_CUDA_RETURN_IF_ERROR(captured);
  PLAIT_CUDA_RETURN_IF_ERROR(enqueued);
  return graph;
}

// Two streams, captured with events.
Result<Timing> TimeCapturedCrossings(Session* session, std::vector<Constant>* constants) {
  Runtime& runtime = session->runtime();
  const Result<Stream> stream = runtime.CreateStream(0);
  if (!stream.ok()) return stream.error();
  const OwnedStream other(&runtime, stream.value());
  const Result<Event> created = runtime.CreateEvent();
  if (!created.ok()) return created.error();
  const OwnedEvent event(&runtime, created.value());
  Result<OwnedGraph> graph =
      Capture(session, [&] { return EnqueueCrossings(session, other.get(), event.get()); });
  if (!graph.ok()) return graph.error();
  const auto edges = runtime.Edges(graph.value().get());
  const double edge_count = edges.ok() ? static_cast<double>(edges.value().size()) : 0;
  constants->push_back({.name = "captured_crossing_edges",
                        .parameter = kCrossings,
                        .unit = "edges",
                        .value = edge_count,
                        .samples = 1});
  const Result<GraphExec> exec = runtime.Instantiate(graph.value().get());
  if (!exec.ok()) return exec.error();
  const ExecutableGraph executable(&runtime, graph.value().Release(), exec.value(), 0, 0);
  Result<std::vector<double>> samples =
      SampleGraph(session, executable, {.launches_per_graph = kCrossings, .samples = kSamples});
  if (!samples.ok()) return samples.error();
  return Summarize(std::move(samples).value());
}

// The same waits as edges of a graph.
Result<Timing> TimeExplicitCrossings(Session* session) {
  FlatGraphBuilder builder(&session->runtime());
  std::vector<int> before;
  for (int i = 0; i < kCrossings; ++i) {
    std::vector<int> step;
    for (int side = 0; side < 2; ++side) {
      const Result<int> probe = AddProbe(session, &builder, session->probes().spin, kSpinCycles);
      if (!probe.ok()) return probe.error();
      step.push_back(probe.value());
    }
    PLAIT_CUDA_RETURN_IF_ERROR(builder.AddStageBarrier(before, step));
    before = step;
  }
  const Result<ExecutableGraph> graph = builder.Build();
  if (!graph.ok()) return graph.error();
  Result<std::vector<double>> samples =
      SampleGraph(session, graph.value(), {.launches_per_graph = kCrossings, .samples = kSamples});
  if (!samples.ok()) return samples.error();
  return Summarize(std::move(samples).value());
}

// How long the host takes to launch and to instantiate a graph of `count` empty kernels, in
// `branches` chains.
Status MeasureHostCosts(Session* session, int count, int branches,
                        std::vector<Constant>* constants) {
  FlatGraphBuilder builder(&session->runtime());
  std::vector<std::vector<int>> chains(branches);
  for (int i = 0; i < count; ++i) {
    const Result<int> probe = AddProbe(session, &builder, session->probes().empty, 0);
    if (!probe.ok()) return probe.error();
    chains[i % branches].push_back(probe.value());
  }
  for (const std::vector<int>& chain : chains) {
    PLAIT_CUDA_RETURN_IF_ERROR(builder.AddStreamOrder(chain));
  }
  const std::string suffix = branches == 1 ? "_straight" : "_branches4";
  std::vector<double> build_us;
  for (int i = 0; i < 3; ++i) {
    const Clock::time_point start = Clock::now();
    const Result<ExecutableGraph> graph = builder.Build();
    build_us.push_back(MicrosecondsSince(start));
    if (!graph.ok()) return graph.error();
  }
  constants->push_back(FromTiming("graph_build_host" + suffix, count, Summarize(build_us)));
  const Result<ExecutableGraph> graph = builder.Build();
  if (!graph.ok()) return graph.error();
  std::vector<double> launch_us, round_trip_us;
  for (int i = 0; i < kSamples; ++i) {
    const Clock::time_point start = Clock::now();
    PLAIT_CUDA_RETURN_IF_ERROR(graph.value().Launch(session->stream()));
    const double launched_us = MicrosecondsSince(start);
    PLAIT_CUDA_RETURN_IF_ERROR(session->runtime().Synchronize(session->stream()));
    if (i < 3) continue;  // the first launches upload the graph
    launch_us.push_back(launched_us);
    round_trip_us.push_back(MicrosecondsSince(start));
  }
  constants->push_back(FromTiming("graph_launch_host" + suffix, count, Summarize(launch_us)));
  constants->push_back(
      FromTiming("graph_launch_to_end_host" + suffix, count, Summarize(round_trip_us)));
  Result<std::vector<double>> device_us =
      SampleGraph(session, graph.value(), {.launches_per_graph = 1, .samples = kSamples});
  if (!device_us.ok()) return device_us.error();
  constants->push_back(
      FromTiming("graph_device" + suffix, count, Summarize(std::move(device_us).value())));
  return Ok();
}

// Instantiation alone, of a captured straight line.
Status MeasureInstantiate(Session* session, int count, std::vector<Constant>* constants) {
  Runtime& runtime = session->runtime();
  const Result<OwnedGraph> graph = Capture(session, [&]() -> Status {
    for (int i = 0; i < count; ++i) {
      PLAIT_CUDA_RETURN_IF_ERROR(
          LaunchProbe(session, session->probes().empty, 1, 0, session->stream()));
    }
    return Ok();
  });
  if (!graph.ok()) return graph.error();
  std::vector<double> instantiate_us;
  for (int i = 0; i < 5; ++i) {
    const Clock::time_point start = Clock::now();
    const Result<GraphExec> exec = runtime.Instantiate(graph.value().get());
    instantiate_us.push_back(MicrosecondsSince(start));
    if (!exec.ok()) return exec.error();
    PLAIT_CUDA_RETURN_IF_ERROR(runtime.DestroyExec(exec.value()));
  }
  constants->push_back(
      FromTiming("graph_instantiate_host", count, Summarize(std::move(instantiate_us))));
  return Ok();
}

constexpr int kPairs = 20;

Result<Timing> TimePairs(Session* session, bool programmatic) {
  FlatGraphBuilder builder(&session->runtime());
  int last = -1;
  for (int i = 0; i < kPairs; ++i) {
    const Result<int> producer =
        AddProbe(session, &builder, session->probes().producer, kSpinCycles);
    const Result<int> consumer =
        AddProbe(session, &builder, session->probes().consumer, kSpinCycles / 2);
    if (!producer.ok()) return producer.error();
    if (!consumer.ok()) return consumer.error();
    if (last >= 0) {
      PLAIT_CUDA_RETURN_IF_ERROR(builder.AddEdge(last, producer.value(), EdgeReason::kData));
    }
    // cudaGraphKernelNodePortProgrammatic and cudaGraphDependencyTypeProgrammatic are both 1.
    const EdgeData data =
        programmatic ? EdgeData{.from_port = 1, .to_port = 0, .type = 1} : EdgeData{};
    PLAIT_CUDA_RETURN_IF_ERROR(
        builder.AddEdge(producer.value(), consumer.value(), EdgeReason::kData, data));
    last = consumer.value();
  }
  const Result<ExecutableGraph> graph = builder.Build();
  if (!graph.ok()) return graph.error();
  Result<std::vector<double>> samples =
      SampleGraph(session, graph.value(), {.launches_per_graph = kPairs, .samples = kSamples});
  if (!samples.ok()) return samples.error();
  return Summarize(std::move(samples).value());
}

}  // namespace

Status MeasureChains(Session* session, std::vector<Constant>* constants) {
  constexpr int kNodes = 50;
  for (int count : {1, kNodes, 4 * kNodes}) {
    const Result<Timing> empty = TimeChain(session, session->probes().empty, count, 0);
    if (!empty.ok()) return empty.error();
    constants->push_back(FromTiming("chain_of_empty_kernels", count, empty.value()));
  }
  const Result<Timing> chain = TimeChain(session, session->probes().spin, kNodes, kSpinCycles);
  if (!chain.ok()) return chain.error();
  const Result<Timing> single = TimeChain(session, session->probes().spin, 1, kNodes * kSpinCycles);
  if (!single.ok()) return single.error();
  constants->push_back(FromTiming("chain_of_spinning_kernels", kNodes, chain.value()));
  constants->push_back(FromTiming("one_kernel_of_the_same_work", kNodes, single.value()));
  constants->push_back(
      {.name = "gap_between_dependent_kernels",
       .unit = "us",
       .value = (chain.value().median_us - single.value().median_us) / (kNodes - 1),
       .samples = chain.value().samples});
  return Ok();
}

Status MeasureForksAndJoins(Session* session, std::vector<Constant>* constants) {
  for (const bool join : {true, false}) {
    double one_us = 0;
    for (int width : {1, 2, 3, 4, 6, 8, 16, 32}) {
      const Result<Timing> fan = TimeFan(session, width, join);
      if (!fan.ok()) return fan.error();
      if (width == 1) one_us = fan.value().median_us;
      constants->push_back(FromTiming(join ? "join_graph" : "fork_graph", width, fan.value()));
      constants->push_back({.name = join ? "join_cost" : "fork_cost",
                            .parameter = static_cast<double>(width),
                            .unit = "us",
                            .value = fan.value().median_us - one_us,
                            .samples = fan.value().samples});
    }
  }
  return Ok();
}

Status MeasureCapturedStreams(Session* session, std::vector<Constant>* constants) {
  const Result<Timing> captured = TimeCapturedCrossings(session, constants);
  if (!captured.ok()) return captured.error();
  constants->push_back(FromTiming("captured_crossing", kCrossings, captured.value()));
  const Result<Timing> explicit_edges = TimeExplicitCrossings(session);
  if (!explicit_edges.ok()) return explicit_edges.error();
  constants->push_back(FromTiming("explicit_crossing", kCrossings, explicit_edges.value()));
  return Ok();
}

Status MeasureGraphLaunch(Session* session, std::vector<Constant>* constants) {
  for (int count : {1, 10, 100, 300, 1000}) {
    PLAIT_CUDA_RETURN_IF_ERROR(MeasureInstantiate(session, count, constants));
    PLAIT_CUDA_RETURN_IF_ERROR(MeasureHostCosts(session, count, 1, constants));
    if (count < 4) continue;
    PLAIT_CUDA_RETURN_IF_ERROR(MeasureHostCosts(session, count, 4, constants));
  }
  return Ok();
}

Status MeasureProgrammaticLaunch(Session* session, std::vector<Constant>* constants) {
  const Result<Timing> plain = TimePairs(session, false);
  if (!plain.ok()) return plain.error();
  constants->push_back(FromTiming("pair_with_plain_edge", kPairs, plain.value()));
  const Result<Timing> programmatic = TimePairs(session, true);
  if (!programmatic.ok()) return programmatic.error();
  constants->push_back(FromTiming("pair_with_programmatic_edge", kPairs, programmatic.value()));
  return Ok();
}

}  // namespace plait::cuda
