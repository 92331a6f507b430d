#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "bench/gpu/constants.h"
#include "bench/gpu/device_operands.h"
#include "gpu_worker/backends/cuda/driver/nvml.h"

namespace plait::cuda {
namespace {

using Clock = std::chrono::steady_clock;

// A rate from bytes or operations per launch and the time of a launch, in units of 10^9 per second.
Constant Rate(const std::string& name, double parameter, const std::string& unit, double work,
              const Timing& timing) {
  const double us = std::max(timing.median_us, 1e-9);
  const double fast_us = std::max(timing.p10_us, 1e-9);
  // p10 of the time is the 90th percentile of the rate: kept as the rate at that time.
  return {.name = name,
          .parameter = parameter,
          .unit = unit,
          .value = work / us / 1e3,
          .p10 = work / fast_us / 1e3,
          .mad = work / us / 1e3 * timing.mad_us / us,
          .samples = timing.samples};
}

Result<Timing> TimeLaunches(Session* session, int count, int samples,
                            const std::function<Status(int, Stream)>& launch,
                            std::shared_ptr<const void> resources = nullptr) {
  const Result<ExecutableGraph> graph = BuildChain(session, count, launch, std::move(resources));
  if (!graph.ok()) return graph.error();
  Result<std::vector<double>> times =
      SampleGraph(session, graph.value(), {.launches_per_graph = count, .samples = samples});
  if (!times.ok()) return times.error();
  return Summarize(std::move(times).value());
}

Status LaunchRead(Session* session, const void* data, long long bytes, long long rounds,
                  float* sink, Stream stream) {
  long long count = bytes / 16;
  void* arguments[] = {&data, &count, &rounds, &sink};
  const auto blocks = static_cast<unsigned>(session->facts().multiprocessors * 8);
  return session->runtime().LaunchKernel(
      session->probes().read, {.grid = {blocks, 1, 1}, .block = {256, 1, 1}}, arguments, stream);
}

// Random bits in `bytes` of device memory, from a block that is repeated.
Status FillRandom(Session* session, void* memory, size_t bytes) {
  constexpr size_t kBlock = size_t{4} << 20;
  const GemmProblem square{.m = 1024, .n = 1024, .k = 1024};
  const Result<ProblemShape> shape = ShapeOf(square);
  if (!shape.ok()) return shape.error();
  const HostOperands host = MakeHostOperands(square, shape.value(), Precision::kStrict, 3);
  auto* to = static_cast<std::byte*>(memory);
  PLAIT_CUDA_RETURN_IF_ERROR(session->Upload(to, host.inputs[0].data(),
                                             std::min({bytes, kBlock, host.inputs[0].size() * 4})));
  for (size_t done = kBlock; done < bytes; done += kBlock) {
    PLAIT_CUDA_RETURN_IF_ERROR(session->runtime().CopyOnDevice(
        to + done, to, std::min(kBlock, bytes - done), session->stream()));
  }
  return session->runtime().Synchronize(session->stream());
}

Status MeasureMemoryRates(Session* session, std::vector<Constant>* constants) {
  const size_t large = session->fake() ? size_t{8} << 20 : size_t{1} << 30;
  const Result<void*> from = session->Take(large), to = session->Take(large);
  const Result<void*> sink = session->Take(256);
  if (!from.ok()) return from.error();
  if (!to.ok()) return to.error();
  if (!sink.ok()) return sink.error();
  PLAIT_CUDA_RETURN_IF_ERROR(FillRandom(session, from.value(), large));
  const Result<Timing> copy = TimeLaunches(session, 4, 10, [&](int, Stream stream) {
    return session->runtime().CopyOnDevice(to.value(), from.value(), large, stream);
  });
  if (!copy.ok()) return copy.error();
  const auto bytes = static_cast<double>(large);
  constants->push_back(Rate("copy_rate_read_and_write", bytes, "GB/s", 2 * bytes, copy.value()));
  const auto read = [&](size_t size, long long rounds) {
    return TimeLaunches(session, 4, 10, [&, size, rounds](int, Stream stream) {
      return LaunchRead(session, from.value(), static_cast<long long>(size), rounds,
                        static_cast<float*>(sink.value()), stream);
    });
  };
  const Result<Timing> memory = read(large, 1);
  if (!memory.ok()) return memory.error();
  constants->push_back(Rate("memory_read_rate", bytes, "GB/s", bytes, memory.value()));
  // From well inside of the L2 to beyond it.
  for (size_t mib : {4, 8, 16, 24, 32, 48, 64, 96}) {
    const size_t size = session->fake() ? mib << 10 : mib << 20;
    constexpr long long kRounds = 16;
    const Result<Timing> cached = read(size, kRounds);
    if (!cached.ok()) return cached.error();
    constants->push_back(Rate("repeated_read_rate", static_cast<double>(size), "GB/s",
                              static_cast<double>(size) * kRounds, cached.value()));
  }
  return Ok();
}

// The best of cuBLASLt's first guesses.
Result<Timing> TimeGemm(Session* session, const GemmProblem& problem, Precision precision,
                        std::string* name) {
  constexpr size_t kCandidates = 4;
  const Result<ProblemShape> shape = ShapeOf(problem);
  if (!shape.ok()) return shape.error();
  Session::Listing listing = session->Enumerate(problem, precision, MemoryLayout::kNchw);
  std::erase_if(listing.candidates, [&](const auto& candidate) {
    return !session->fake() && candidate->name().rfind("cublaslt", 0) != 0;
  });
  if (listing.candidates.empty()) {
    std::string reasons;
    for (const std::string& error : listing.errors) reasons += error + "; ";
    return Error{ErrorCode::kUnavailable, "no cuBLASLt candidate: " + reasons};
  }
  Result<DeviceOperands> operands = DeviceOperands::Upload(
      session, shape.value(), precision, MakeHostOperands(problem, shape.value(), precision, 5), 1);
  if (!operands.ok()) return operands.error();
  Result<Timing> best = Error{ErrorCode::kUnsupported, "no cuBLASLt candidate ran"};
  for (size_t i = 0; i < std::min(kCandidates, listing.candidates.size()); ++i) {
    Candidate& candidate = *listing.candidates[i];
    if (!candidate.Prepare().ok()) continue;
    const size_t mark = session->mark();
    const Result<void*> workspace = session->Take(candidate.workspace_bytes() + 1);
    if (!workspace.ok()) continue;
    operands.value().SetWorkspace(workspace.value());
    const Status warmed = candidate.Launch(operands.value().at(0), session->stream());
    const auto launch = [&](int, Stream stream) {
      return candidate.Launch(operands.value().at(0), stream);
    };
    const Result<Timing> timing = warmed.ok()
                                      ? TimeLaunches(session, 10, 10, launch, candidate.resources())
                                      : Result<Timing>(warmed.error());
    session->Release(mark);
    if (timing.ok() && (!best.ok() || timing.value().median_us < best.value().median_us)) {
      best = timing;
      *name = candidate.name();
    }
  }
  return best;
}

}  // namespace

Status MeasureEvents(Session* session, std::vector<Constant>* constants) {
  Runtime& runtime = session->runtime();
  std::vector<double> pairs_us;
  for (int i = 0; i < 200; ++i) {
    OwnedEvent pair[2];
    for (OwnedEvent& event : pair) {
      const Result<Event> created = runtime.CreateEvent();
      if (!created.ok()) return created.error();
      event = OwnedEvent(&runtime, created.value());
      PLAIT_CUDA_RETURN_IF_ERROR(runtime.RecordEvent(event.get(), session->stream()));
    }
    PLAIT_CUDA_RETURN_IF_ERROR(runtime.Synchronize(session->stream()));
    const Result<double> elapsed_us = runtime.ElapsedUs(pair[0].get(), pair[1].get());
    if (!elapsed_us.ok()) return elapsed_us.error();
    pairs_us.push_back(elapsed_us.value());
  }
  constants->push_back(FromTiming("event_pair", 0, Summarize(pairs_us)));
  // The smallest step between two different readings is the events' resolution.
  std::sort(pairs_us.begin(), pairs_us.end());
  double step_us = 0;
  for (size_t i = 1; i < pairs_us.size(); ++i) {
    const double step = pairs_us[i] - pairs_us[i - 1];
    if (step > 1e-4 && (step_us == 0 || step < step_us)) step_us = step;
  }
  constants->push_back({.name = "event_resolution",
                        .unit = "us",
                        .value = step_us,
                        .samples = static_cast<int>(pairs_us.size())});
  return Ok();
}

Status MeasureMemory(Session* session, std::vector<Constant>* constants) {
  const size_t mark = session->mark();
  const Status measured = MeasureMemoryRates(session, constants);
  session->Release(mark);
  return measured;
}

Status MeasureGemms(Session* session, std::vector<Constant>* constants) {
  Status result = Ok();
  for (Precision precision :
       {Precision::kFp16, Precision::kBf16, Precision::kTf32, Precision::kStrict}) {
    for (int64_t size : {int64_t{4096}, int64_t{8192}}) {
      // Without tensor cores the large one takes seconds and shows the same rate.
      if (precision == Precision::kStrict && size > 4096) continue;
      if (session->fake()) size /= 64;
      const GemmProblem problem{.m = size, .n = size, .k = size};
      const size_t mark = session->mark();
      std::string name;
      const Result<Timing> timing = TimeGemm(session, problem, precision, &name);
      session->Release(mark);
      if (!timing.ok()) {
        result = timing.error();
        continue;
      }
      const double flops =
          2.0 * static_cast<double>(size) * static_cast<double>(size) * static_cast<double>(size);
      constants->push_back(
          Rate(std::string("gemm_rate_") + PrecisionName(precision) + " by " + name,
               static_cast<double>(size), "GFLOP/s", flops, timing.value()));
    }
  }
  return result;
}

Status MeasureClocks(Session* session, std::vector<Constant>* constants) {
  if (session->fake()) return Error{ErrorCode::kUnsupported, "a fake device has no NVML"};
  const Result<Nvml> nvml = Nvml::Open(session->facts().pci_bus_id);
  if (!nvml.ok()) return nvml.error();
  constexpr auto kDuration = std::chrono::milliseconds(2000);
  constexpr auto kStep = std::chrono::milliseconds(100);
  constexpr long long kStepCycles = 200'000'000;  // about 0.1 s
  const Clock::time_point start = Clock::now();
  const auto blocks = static_cast<unsigned>(session->facts().multiprocessors * 4);
  while (Clock::now() < start + kDuration) {
    PLAIT_CUDA_RETURN_IF_ERROR(
        LaunchProbe(session, session->probes().spin, blocks, kStepCycles, session->stream()));
    std::this_thread::sleep_for(kStep / 2);
    const Result<Nvml::Reading> reading = nvml.value().Read();
    if (!reading.ok()) return reading.error();
    const double ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    const auto add = [&](const char* name, const char* unit, double value) {
      constants->push_back(
          {.name = name, .parameter = ms, .unit = unit, .value = value, .samples = 1});
    };
    add("sm_clock_over_time", "MHz", reading.value().sm_mhz);
    add("memory_clock_over_time", "MHz", reading.value().memory_mhz);
    add("power_over_time", "W", reading.value().power_mw / 1000.0);
    add("temperature_over_time", "C", reading.value().temperature_c);
    PLAIT_CUDA_RETURN_IF_ERROR(session->runtime().Synchronize(session->stream()));
  }
  return Ok();
}

}  // namespace plait::cuda
