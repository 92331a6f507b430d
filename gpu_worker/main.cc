#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

#include <grpcpp/grpcpp.h>
#include <nlohmann/json.hpp>
#include <sys/prctl.h>
#include <unistd.h>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gpu_worker/executor.h"
#include "gpu_worker/synchronize_loop.h"
#include "optimizer/base/status_macros.h"

namespace plait {
namespace {

constexpr int kExitUsage = 2;
constexpr int kExitUnreachable = 9;

constexpr char kUsage[] = R"(plait-worker: measures kernels and plans on one device for a plaitd

  --device DEVICE    cpu, reference or cuda:N (default cpu)
  --server ADDRESS   HOST:PORT or unix:PATH
  --threads N        cores granted to the device; 0: all (default)
  --id NAME          the worker's name; unique (default: host, device and process id)
  --parent PID       end when this process, the parent, ends
  --check            open the device, print it as JSON, and end (0: it works, 9: it does not)

Examples:
  plait-worker --check --device cpu
  plait-worker --device cpu --server 10.0.0.7:7433
)";

struct Arguments {
  std::string device = "cpu";
  std::string server;
  std::string id;
  int threads = 0;
  int parent = 0;
  bool check = false;
  bool help = false;
};

absl::StatusOr<Arguments> ParseArguments(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const absl::string_view flag = argv[i];
    if (flag == "--check") {
      arguments.check = true;
      continue;
    }
    if (flag == "--help" || flag == "-h") {
      arguments.help = true;
      continue;
    }
    const bool is_known = flag == "--device" || flag == "--server" || flag == "--id" ||
                          flag == "--threads" || flag == "--parent";
    if (!is_known) return absl::InvalidArgumentError(absl::StrCat("unknown argument ", flag));
    if (i + 1 == argc) return absl::InvalidArgumentError(absl::StrCat(flag, ": needs a value"));
    const std::string value = argv[++i];
    if (flag == "--device") arguments.device = value;
    if (flag == "--server") arguments.server = value;
    if (flag == "--id") arguments.id = value;
    int* const number = flag == "--threads"  ? &arguments.threads
                        : flag == "--parent" ? &arguments.parent
                                             : nullptr;
    if (number != nullptr && (!absl::SimpleAtoi(value, number) || *number < 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat(flag, ": must be a whole number, 0 or more, is \"", value, "\""));
    }
  }
  if (arguments.id.empty()) {
    char host[128] = {};
    gethostname(host, sizeof(host) - 1);
    arguments.id = absl::StrCat(host, "-", arguments.device, "-", getpid());
  }
  if (arguments.server.empty() && !arguments.check && !arguments.help) {
    return absl::InvalidArgumentError("--server ADDRESS is required");
  }
  return arguments;
}

void PrintDevice(const DeviceDescription& device) {
  const nlohmann::json description = {{"id", device.id},
                                      {"name", device.name},
                                      {"fingerprint", device.fingerprint},
                                      {"instruction_set", device.instruction_set},
                                      {"cores", device.threads},
                                      {"memory_bytes", device.memory_bytes}};
  std::printf("%s\n", description.dump().c_str());
}

std::shared_ptr<grpc::ChannelCredentials> CredentialsFor(const std::string& server) {
  const bool is_local = absl::StartsWith(server, "unix:") || absl::StartsWith(server, "127.") ||
                        absl::StartsWith(server, "localhost:") ||
                        absl::StartsWith(server, "[::1]:");
  return is_local ? grpc::InsecureChannelCredentials()
                  : grpc::SslCredentials(grpc::SslCredentialsOptions());
}

int Fail(const absl::Status& status, int code) {
  std::fprintf(stderr, "plait-worker: %s\n", std::string(status.message()).c_str());
  return code;
}

int Main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  const absl::StatusOr<Arguments> arguments = ParseArguments(argc, argv);
  if (!arguments.ok()) return Fail(arguments.status(), kExitUsage);
  if (arguments->help) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  if (arguments->parent != 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // It may have died before the kernel was told.
    if (getppid() != arguments->parent) return kExitUnreachable;
  }
  const absl::StatusOr<std::unique_ptr<Executor>> executor =
      OpenExecutor(arguments->device, arguments->threads);
  if (!executor.ok()) return Fail(executor.status(), kExitUnreachable);
  if (arguments->check) {
    PrintDevice((*executor)->device());
    return 0;
  }
  grpc::ChannelArguments channel_arguments;
  channel_arguments.SetMaxReceiveMessageSize(-1);
  channel_arguments.SetMaxSendMessageSize(-1);
  const std::shared_ptr<grpc::Channel> channel = grpc::CreateCustomChannel(
      arguments->server, CredentialsFor(arguments->server), channel_arguments);
  SynchronizeOptions options;
  options.worker_id = arguments->id;
  return Fail(SynchronizeForever(**executor, channel, options), kExitUnreachable);
}

}  // namespace
}  // namespace plait

int main(int argc, char** argv) { return plait::Main(argc, argv); }
