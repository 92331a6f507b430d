#include <algorithm>
#include <csignal>
#include <cstdio>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>
#include <sys/prctl.h>
#include <unistd.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/catalogs.h"
#include "gpu_worker/backends/open_executor.h"
#include "gpu_worker/executor/executor.h"
#include "gpu_worker/executor/self_test.h"
#include "gpu_worker/process/synchronize_loop.h"
#include "proto/wire/channel.h"

namespace plait {
namespace {

constexpr int kExitInternal = 1;
constexpr int kExitUsage = 2;
constexpr int kExitUnreachable = 9;

constexpr char kUsage[] = R"(plait-worker: measures kernels and plans on one device for a plaitd

  --device DEVICE    cpu, reference or cuda:N (default cpu)
  --server ADDRESS   HOST:PORT or unix:PATH
  --threads N        cores granted to the device; 0: all (default)
  --id NAME          the worker's name; unique (default: host, device and process id)
  --parent PID       end when this process, the parent, ends
  --tls-ca FILE      who may sign the server (PEM; default: the system's authorities)
  --tls-cert FILE    the certificate to show to the server (PEM), with
  --tls-key FILE     its key (PEM)
  --check            open the device, compare its kernels with the reference, print it as JSON, and
                     end (0: it works, 1: a kernel is wrong, 9: it is not there)

Examples:
  plait-worker --check --device cpu
  plait-worker --device cpu --server plait.example.com:7400 --tls-cert w.pem --tls-key w.key
)";

struct Arguments {
  std::string device = "cpu";
  // Tasks carry whole graphs and plans.
  wire::ServerAddress server = {.message_bytes_max = std::numeric_limits<int>::max()};
  std::string id;
  int threads = 0;
  int parent = 0;
  bool check = false;
  bool help = false;
};

// Puts the value of a flag where it belongs.
absl::Status SetValue(absl::string_view flag, const std::string& value, Arguments* arguments) {
  const std::pair<absl::string_view, std::string*> texts[] = {
      {"--device", &arguments->device},
      {"--id", &arguments->id},
      {"--server", &arguments->server.address},
      {"--tls-ca", &arguments->server.ca_file},
      {"--tls-cert", &arguments->server.cert_file},
      {"--tls-key", &arguments->server.key_file},
  };
  for (const auto& [name, text] : texts) {
    if (flag != name) continue;
    *text = value;
    return absl::OkStatus();
  }
  int* const number = flag == "--threads" ? &arguments->threads : &arguments->parent;
  if (absl::SimpleAtoi(value, number) && *number >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(flag, ": must be a whole number, 0 or more, is \"", value, "\""));
}

bool TakesValue(absl::string_view flag) {
  constexpr absl::string_view kFlags[] = {"--device",   "--id",      "--server",  "--tls-ca",
                                          "--tls-cert", "--tls-key", "--threads", "--parent"};
  return std::find(std::begin(kFlags), std::end(kFlags), flag) != std::end(kFlags);
}

absl::StatusOr<Arguments> ParseArguments(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const absl::string_view flag = argv[i];
    if (flag == "--check") {
      arguments.check = true;
    } else if (flag == "--help" || flag == "-h") {
      arguments.help = true;
    } else if (!TakesValue(flag)) {
      return absl::InvalidArgumentError(
          absl::StrCat("unknown argument ", flag, " (try plait-worker --help)"));
    } else if (i + 1 == argc) {
      return absl::InvalidArgumentError(absl::StrCat(flag, ": needs a value"));
    } else {
      PLAIT_RETURN_IF_ERROR(SetValue(flag, argv[++i], &arguments));
    }
  }
  if (arguments.id.empty()) {
    char host[128] = {};
    gethostname(host, sizeof(host) - 1);
    arguments.id = absl::StrCat(host, "-", arguments.device, "-", getpid());
  }
  if (arguments.server.address.empty() && !arguments.check && !arguments.help) {
    return absl::InvalidArgumentError("--server ADDRESS is required");
  }
  return arguments;
}

void PrintDevice(const DeviceDescription& device, int kernels_checked) {
  const nlohmann::json description = {{"id", device.id},
                                      {"name", device.name},
                                      {"fingerprint", device.fingerprint},
                                      {"instruction_set", device.instruction_set},
                                      {"cores", device.threads},
                                      {"memory_bytes", device.memory_bytes},
                                      {"kernels_checked", kernels_checked}};
  std::printf("%s\n", description.dump().c_str());
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
    const auto catalog = CatalogFor((*executor)->device());
    if (!catalog.ok()) return Fail(catalog.status(), kExitInternal);
    const absl::StatusOr<int> kernels_checked = RunSelfTest(**executor, **catalog);
    if (!kernels_checked.ok()) return Fail(kernels_checked.status(), kExitInternal);
    PrintDevice((*executor)->device(), *kernels_checked);
    return 0;
  }
  const absl::StatusOr<std::shared_ptr<grpc::Channel>> channel =
      wire::OpenChannel(arguments->server);
  if (!channel.ok()) return Fail(channel.status(), kExitUsage);
  SynchronizeOptions options;
  options.worker_id = arguments->id;
  return Fail(SynchronizeForever(**executor, *channel, options), kExitUnreachable);
}

}  // namespace
}  // namespace plait

int main(int argc, char** argv) { return plait::Main(argc, argv); }
