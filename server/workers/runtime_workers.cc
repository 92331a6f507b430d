#include "server/workers/runtime_workers.h"

#include <algorithm>
#include <utility>

#include <fcntl.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <poll.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file_descriptor.h"
#include "base/status_macros.h"
#include "proto/wire/check_device.h"
#include "proto/wire/error.h"
#include "server/telemetry/log.h"

namespace plait {
namespace {

constexpr char kModule[] = "plait_runtime_worker";
// A few lines for each runtime.
constexpr size_t kProbeBytesMax = size_t{1} << 20;
constexpr size_t kReasonBytesMax = 1000;
// By the search for a program in PATH that the system has.
constexpr char kEnv[] = "/usr/bin/env";

// Of one line's object.
void TakeLine(const google::protobuf::Struct& line, ProbeAnswer& answer) {
  const auto text = [&](const char* name) -> std::string {
    const auto found = line.fields().find(name);
    return found == line.fields().end() ? "" : found->second.string_value();
  };
  if (!text("interpreter").empty()) answer.interpreter = text("interpreter");
  if (!text("missing").empty()) {
    v1::MissingRuntime& missing = answer.found.missing.emplace_back();
    missing.set_name(wire::ValidUtf8(text("name"), kReasonBytesMax));
    missing.set_reason(wire::ValidUtf8(text("missing"), kReasonBytesMax));
  }
  const auto device = line.fields().find("device");
  if (device == line.fields().end()) return;
  std::string json;
  v1::Device parsed;
  const bool is_device = google::protobuf::util::MessageToJsonString(device->second, &json).ok() &&
                         google::protobuf::util::JsonStringToMessage(json, &parsed).ok() &&
                         wire::CheckDevice(parsed).ok() && !parsed.runtime_version().empty();
  if (is_device) answer.found.devices.push_back(std::move(parsed));
}

}  // namespace

ProbeAnswer ReadProbe(absl::string_view text) {
  ProbeAnswer answer;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    google::protobuf::Struct fields;
    if (!google::protobuf::util::JsonStringToMessage(std::string(line), &fields).ok()) continue;
    TakeLine(fields, answer);
  }
  std::sort(answer.found.devices.begin(), answer.found.devices.end(),
            [](const v1::Device& a, const v1::Device& b) { return a.id() < b.id(); });
  return answer;
}

RuntimeWorkers::RuntimeWorkers(WorkerPool& pool, Clock& clock, RuntimeWorkersOptions options)
    : pool_(pool), clock_(clock), options_(std::move(options)), thread_([this] { Probe(); }) {}

RuntimeWorkers::~RuntimeWorkers() {
  Stop();
  thread_.join();
}

Runtimes::Found RuntimeWorkers::Await(absl::Duration time_max) {
  absl::MutexLock lock(&mutex_);
  const auto is_known = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopped_ || found_.has_value();
  };
  mutex_.AwaitWithTimeout(absl::Condition(&is_known), time_max);
  return found_.value_or(Found());
}

void RuntimeWorkers::StartWorker(const std::string& id) {
  absl::MutexLock lock(&mutex_);
  if (stopped_ || !found_ || supervisors_.contains(id)) return;
  const std::vector<v1::Device>& devices = found_->devices;
  const bool is_here = std::any_of(devices.begin(), devices.end(),
                                   [&](const v1::Device& device) { return device.id() == id; });
  if (!is_here) return;
  supervisors_[id] = std::make_unique<WorkerSupervisor>(pool_, clock_, SupervisorOptions(id));
}

void RuntimeWorkers::Stop() {
  std::map<std::string, std::unique_ptr<WorkerSupervisor>> supervisors;
  {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
    supervisors.swap(supervisors_);
  }
}

WorkerSupervisorOptions RuntimeWorkers::SupervisorOptions(const std::string& id) const {
  WorkerSupervisorOptions options;
  options.program = interpreter_;
  // Without the packages of the user who runs the daemon; those of the interpreter were found.
  options.program_arguments = {"-m", kModule};
  options.environment = {absl::StrCat("PYTHONPATH=", options_.package_path),
                         "PYTHONDONTWRITEBYTECODE=1", "LC_ALL=C.UTF-8"};
  options.device = id;
  options.server_address = options_.server_address;
  options.threads = options_.threads;
  options.memory_bytes_max = options_.memory_bytes_max;
  options.start_max = options_.start_max;
  options.restarted = options_.restarted;
  return options;
}

void RuntimeWorkers::Probe() {
  ProbeAnswer answer;
  if (!options_.interpreter.empty()) {
    const absl::StatusOr<std::string> text = AskInterpreter();
    if (text.ok()) answer = ReadProbe(*text);
    if (answer.interpreter.empty()) {
      answer.found = {};
      v1::MissingRuntime& missing = answer.found.missing.emplace_back();
      missing.set_name("onnxruntime, openvino");
      missing.set_reason(absl::StrCat(
          options_.interpreter, " cannot run their worker: ",
          text.ok() ? "it says nothing" : wire::ValidUtf8(text.status().message(), kReasonBytesMax),
          " (runtimes_python names an interpreter)"));
    }
  }
  for (const v1::Device& device : answer.found.devices) {
    LogInfo("runtime.found", {{"runtime", device.id()}, {"version", device.runtime_version()}});
  }
  for (const v1::MissingRuntime& missing : answer.found.missing) {
    LogInfo("runtime.missing", {{"runtime", missing.name()}, {"reason", missing.reason()}});
  }
  absl::MutexLock lock(&mutex_);
  interpreter_ = answer.interpreter;
  found_ = std::move(answer.found);
}

absl::StatusOr<std::string> RuntimeWorkers::AskInterpreter() const {
  int pipes[2];
  if (pipe2(pipes, O_CLOEXEC) != 0) return absl::UnavailableError("no pipe");
  const FileDescriptor output(pipes[0]);
  FileDescriptor written(pipes[1]);
  ProcessOptions process_options;
  process_options.program = kEnv;
  process_options.arguments = {"env",
                               absl::StrCat("PYTHONPATH=", options_.package_path),
                               "PYTHONDONTWRITEBYTECODE=1",
                               options_.interpreter,
                               "-m",
                               kModule,
                               "--probe",
                               "--threads",
                               absl::StrCat(options_.threads),
                               "--memory-bytes",
                               absl::StrCat(options_.memory_bytes_max)};
  process_options.descriptors = {{written.number(), STDOUT_FILENO}};
  PLAIT_ASSIGN_OR_RETURN(Process process, Process::Start(process_options));
  written = FileDescriptor();
  std::string text;
  const absl::Duration ends_at = clock_.Monotonic() + kRuntimesWait;
  while (true) {
    {
      absl::MutexLock lock(&mutex_);
      if (stopped_) return absl::UnavailableError("the server stops");
    }
    if (clock_.Monotonic() > ends_at) return absl::UnavailableError("it does not answer");
    pollfd file = {output.number(), POLLIN, 0};
    if (poll(&file, 1, 100) <= 0) continue;
    char bytes[4096];
    const ssize_t count = read(output.number(), bytes, sizeof(bytes));
    if (count <= 0 || text.size() > kProbeBytesMax) break;
    text.append(bytes, static_cast<size_t>(count));
  }
  const std::optional<ProcessEnd> end = process.Await(absl::Seconds(5));
  if (end && end->signal == 0 && end->exit_code == 0) return text;
  if (end && end->exit_code == 127) return absl::UnavailableError("there is no such program");
  return absl::UnavailableError("it ends with an error");
}

}  // namespace plait
