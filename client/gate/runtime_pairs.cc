#include "client/gate/runtime_pairs.h"

#include <cerrno>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "proto/wire/error.h"

namespace plait {
namespace {

using wire::Json;

// By the search for a program in PATH that the system has.
constexpr char kEnv[] = "/usr/bin/env";
constexpr char kModule[] = "plait_runtime_worker.pairs";
// 11 min: a load ends by itself after ten (LOAD_SECONDS_MAX of pairs.py).
constexpr absl::Duration kAnswerTimeMax = absl::Minutes(11);
// 2 s: for the process to remove its folders once nothing more is wanted of it.
constexpr absl::Duration kEndTimeMax = absl::Seconds(2);
// 1 MiB: a line of two times eight numbers, or of an error's text.
constexpr size_t kLineBytesMax = size_t{1} << 20;

absl::Status Unavailable(absl::string_view message) {
  return wire::Error(v1::ERROR_REASON_DEVICE_UNAVAILABLE, message);
}

std::string TextOf(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

// Empty unless all are positive numbers.
std::vector<double> TimesOf(const Json& json, const char* name) {
  std::vector<double> times;
  const auto found = json.find(name);
  if (found == json.end() || !found->is_array()) return times;
  for (const Json& number : *found) {
    if (!number.is_number() || !(number.get<double>() > 0)) return {};
    times.push_back(number.get<double>());
  }
  return times;
}

// What a frame says of a model, and how many bytes follow.
void Describe(const GatedFile& file, Json& frame) {
  Json inputs = Json::array();
  for (const auto& [name, value] : file.inputs) {
    const TensorType& type = value.type();
    inputs.push_back(Json::array({name, static_cast<int>(type.dtype), type.shape}));
    frame["bytes"].push_back(value.bytes().size());
  }
  frame["inputs"].push_back(std::move(inputs));
  frame["bytes"].push_back(file.bytes.size());
}

}  // namespace

absl::StatusOr<std::unique_ptr<RuntimePairs>> RuntimePairs::Start(const RuntimeOptions& options,
                                                                  const GatedFile& base,
                                                                  const GatedFile& changed) {
  if (options.interpreter == "none") {
    return Unavailable(absl::StrCat(options.runtime,
                                    ": no Python may be asked for it (PLAIT_RUNTIMES_PYTHON is "
                                    "none)"));
  }
  auto pairs = std::make_unique<RuntimePairs>(options.runtime);
  pairs->paths_[0] = base.path;
  pairs->paths_[1] = changed.path;
  PLAIT_RETURN_IF_ERROR(pairs->Spawn(options));
  PLAIT_RETURN_IF_ERROR(pairs->Greet());
  PLAIT_RETURN_IF_ERROR(pairs->Give(base, changed));
  return pairs;
}

RuntimePairs::~RuntimePairs() {
  socket_ = FileDescriptor();
  if (process_.id() != 0 && !process_.Await(kEndTimeMax)) process_.Kill();
}

absl::StatusOr<PairedLoad> RuntimePairs::MeasureLoad(bool new_first) {
  Write(wire::JsonLine({{"new_first", new_first}, {"bytes", Json::array()}}));
  PLAIT_ASSIGN_OR_RETURN(const Json answer, Answer());
  PairedLoad load = {TimesOf(answer, "base_us"), TimesOf(answer, "new_us")};
  if (load.base_us.empty() || load.base_us.size() != load.new_us.size()) return Gone();
  return load;
}

absl::Status RuntimePairs::Spawn(const RuntimeOptions& options) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    return absl::ErrnoToStatus(errno, "socketpair");
  }
  socket_ = FileDescriptor(sockets[0]);
  const FileDescriptor theirs(sockets[1]);
  ProcessOptions process;
  process.program = kEnv;
  process.arguments = {"env",
                       absl::StrCat("PYTHONPATH=", options.package_path),
                       "PYTHONDONTWRITEBYTECODE=1",
                       "LC_ALL=C.UTF-8",
                       options.interpreter,
                       "-m",
                       kModule,
                       "--runtime",
                       options.runtime,
                       "--threads",
                       absl::StrCat(options.threads),
                       "--memory-bytes",
                       absl::StrCat(options.memory_bytes_max)};
  process.descriptors = {{theirs.number(), STDIN_FILENO}, {theirs.number(), STDOUT_FILENO}};
  PLAIT_ASSIGN_OR_RETURN(process_, Process::Start(process));
  return absl::OkStatus();
}

absl::Status RuntimePairs::Greet() {
  PLAIT_ASSIGN_OR_RETURN(const Json answer, Answer());
  const auto device = answer.find("device");
  if (device == answer.end() || !device->is_object()) {
    return Unavailable(absl::StrCat(runtime_, ": ", TextOf(answer, "missing"),
                                    " (PLAIT_RUNTIMES_PYTHON names another interpreter)"));
  }
  device_.id = TextOf(*device, "id");
  device_.backend = TextOf(*device, "backend");
  device_.name = TextOf(*device, "name");
  device_.fingerprint = TextOf(*device, "fingerprint");
  settings_ = TextOf(answer, "options");
  return absl::OkStatus();
}

absl::Status RuntimePairs::Give(const GatedFile& base, const GatedFile& changed) {
  Json frame = {{"inputs", Json::array()}, {"bytes", Json::array()}};
  Describe(base, frame);
  Describe(changed, frame);
  Write(wire::JsonLine(frame));
  for (const GatedFile* file : {&base, &changed}) {
    for (const auto& [name, value] : file->inputs) Write(value.bytes());
    Write(file->bytes);
  }
  return Answer().status();
}

void RuntimePairs::Write(absl::string_view bytes) {
  while (!bytes.empty()) {
    // Without the signal: a process that is gone is no end of this one.
    const ssize_t written = send(socket_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

absl::StatusOr<Json> RuntimePairs::Answer() {
  const absl::Time ends_at = absl::Now() + kAnswerTimeMax;
  size_t end = received_.find('\n');
  while (end == std::string::npos) {
    if (absl::Now() > ends_at || received_.size() > kLineBytesMax) return Gone();
    pollfd file = {socket_.number(), POLLIN, 0};
    if (poll(&file, 1, 100) <= 0) continue;
    char bytes[4096];
    const ssize_t count = recv(socket_.number(), bytes, sizeof(bytes), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return Gone();
    received_.append(bytes, static_cast<size_t>(count));
    end = received_.find('\n');
  }
  Json answer = Json::parse(received_.substr(0, end), nullptr, /*allow_exceptions=*/false);
  received_.erase(0, end + 1);
  if (!answer.is_object()) return Gone();
  const std::string error = TextOf(answer, "error");
  if (error.empty()) return answer;
  const bool is_new = answer.value("model", 0) == 1;
  return wire::Error(v1::ERROR_REASON_MODEL_REJECTED,
                     absl::StrCat(paths_[is_new ? 1 : 0], ": ", runtime_, ": ", error));
}

absl::Status RuntimePairs::Gone() const {
  return Unavailable(absl::StrCat(runtime_,
                                  ": the Python that runs it has broken off, or cannot run its "
                                  "worker (PLAIT_RUNTIMES_PYTHON names an interpreter)"));
}

}  // namespace plait
