#include <cstdio>
#include <fstream>

#include "bench/gpu/constants.h"
#include "bench/gpu/flat_json.h"
#include "bench/gpu/options.h"
#include "bench/gpu/supervisor.h"

namespace plait::cuda {
namespace {

struct GroupFailure {
  std::string group;
  std::string reason;
};

std::string ListOf(const std::vector<std::string>& lines) {
  std::string json = "[";
  for (const std::string& line : lines) json += (json == "[" ? "\n  " : ",\n  ") + line;
  return json + "\n]";
}

std::string ToJson(const Session& session, const std::vector<Constant>& constants,
                   const std::vector<GroupFailure>& failures, bool complete) {
  std::vector<std::string> lines, failed;
  for (const Constant& constant : constants) {
    lines.push_back(FlatWriter()
                        .Add("name", constant.name)
                        .Add("parameter", constant.parameter)
                        .Add("unit", constant.unit)
                        .Add("value", constant.value)
                        .Add("p10", constant.p10)
                        .Add("mad", constant.mad)
                        .Add("samples", constant.samples)
                        .Line());
  }
  for (const GroupFailure& failure : failures) {
    failed.push_back(FlatWriter().Add("group", failure.group).Add("reason", failure.reason).Line());
  }
  const DeviceFacts& facts = session.facts();
  FlatWriter writer;
  writer.Add("device", session.fingerprint());
  writer.Add("device_name", facts.name);
  writer.Add("sm_major", facts.sm_major).Add("sm_minor", facts.sm_minor);
  writer.Add("multiprocessors", facts.multiprocessors);
  writer.Add("threads_per_multiprocessor", facts.threads_per_multiprocessor);
  writer.Add("l2_bytes", facts.l2_bytes).Add("memory_bytes", facts.memory_bytes);
  writer.Add("driver_version", facts.driver_version);
  writer.Add("runtime_version", facts.runtime_version);
  writer.Add("cudnn_device_description", session.fake() ? "" : session.description().json);
  writer.Add("complete", complete);
  writer.AddRaw("constants", ListOf(lines));
  writer.AddRaw("failures", ListOf(failed));
  return writer.Line();
}

// A reader never sees half of a file.
bool WriteWhole(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".new";
  {
    std::ofstream file(temporary, std::ios::trunc);
    file << text << "\n";
    if (!file) return false;
  }
  return std::rename(temporary.c_str(), path.c_str()) == 0;
}

bool IsComplete(const std::string& path) {
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return text.find("\"complete\":true") != std::string::npos;
}

// Loads every probe kernel: the first launch of a kernel must not be inside of a capture.
Status WarmUp(Session* session) {
  const ProbeKernels& probes = session->probes();
  for (Kernel kernel : {probes.empty, probes.spin, probes.producer, probes.consumer}) {
    PLAIT_CUDA_RETURN_IF_ERROR(LaunchProbe(session, kernel, 1, 1, session->stream()));
  }
  const void* data = nullptr;
  long long none = 0;
  void* sink = nullptr;
  void* arguments[] = {&data, &none, &none, &sink};
  PLAIT_CUDA_RETURN_IF_ERROR(
      session->runtime().LaunchKernel(probes.read, {}, arguments, session->stream()));
  return session->runtime().Synchronize(session->stream());
}

int MeasureConstants(const Options& options, Attempt* attempt) {
  Result<std::unique_ptr<Session>> session = Session::Open(options.fake);
  if (!session.ok()) {
    std::fprintf(stderr, "constants: %s\n", session.error().message.c_str());
    return 1;
  }
  if (const Status warm = WarmUp(session.value().get()); !warm.ok()) {
    std::fprintf(stderr, "constants: probe kernels: %s\n", warm.error().message.c_str());
    return 1;
  }
  std::vector<Constant> constants;
  std::vector<GroupFailure> failures;
  bool complete = true;
  for (const ConstantGroup& group : ConstantGroups()) {
    attempt->Beat();
    if (StopRequested() || PastDeadline(options)) {
      failures.push_back({group.name, "no time left"});
      complete = false;
      continue;
    }
    const Status measured = group.measure(session.value().get(), &constants);
    if (!measured.ok()) {
      std::fprintf(stderr, "constants: %s: %s\n", group.name, measured.error().message.c_str());
      failures.push_back({group.name, measured.error().message});
    }
    const bool healthy = session.value()->runtime().CheckHealth().ok();
    if (!WriteWhole(options.out, ToJson(*session.value(), constants, failures, false))) {
      std::fprintf(stderr, "constants: %s cannot be written\n", options.out.c_str());
      return 1;
    }
    if (!healthy) {
      std::fprintf(stderr, "constants: %s broke the device's context; stopping\n", group.name);
      return 1;
    }
  }
  if (!WriteWhole(options.out, ToJson(*session.value(), constants, failures, complete))) return 1;
  std::printf("constants: %zu numbers, %zu groups failed\n", constants.size(), failures.size());
  return 0;
}

}  // namespace

Constant FromTiming(const std::string& name, double parameter, const Timing& timing) {
  return {.name = name,
          .parameter = parameter,
          .unit = "us",
          .value = timing.median_us,
          .p10 = timing.p10_us,
          .mad = timing.mad_us,
          .samples = timing.samples};
}

Status LaunchProbe(Session* session, Kernel kernel, unsigned blocks, long long cycles,
                   Stream stream) {
  void* arguments[] = {&cycles};
  return session->runtime().LaunchKernel(kernel, {.grid = {blocks, 1, 1}, .block = {32, 1, 1}},
                                         arguments, stream);
}

std::vector<ConstantGroup> ConstantGroups() {
  return {{"events", MeasureEvents},
          {"chains", MeasureChains},
          {"forks_and_joins", MeasureForksAndJoins},
          {"captured_streams", MeasureCapturedStreams},
          {"memory", MeasureMemory},
          {"gemms", MeasureGemms},
          {"graph_launch", MeasureGraphLaunch},
          {"programmatic_launch", MeasureProgrammaticLaunch},
          {"clocks", MeasureClocks}};
}

int RunConstants(const Options& options) {
  if (IsComplete(options.out)) {
    std::printf("constants: %s is complete\n", options.out.c_str());
    return 0;
  }
  return Supervise(options.out,
                   [&](Attempt& attempt) { return MeasureConstants(options, &attempt); });
}

}  // namespace plait::cuda
