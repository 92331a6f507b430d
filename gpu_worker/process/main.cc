#include <csignal>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <sys/prctl.h>
#include <unistd.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/arguments.h"
#include "base/instruction_set_names.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/catalogs.h"
#include "gpu_worker/backends/open_executor.h"
#include "gpu_worker/executor/executor.h"
#include "gpu_worker/executor/self_test.h"
#include "gpu_worker/process/synchronize_loop.h"
#include "proto/wire/channel.h"
#include "proto/wire/grpc_lifetime.h"

namespace plait {
namespace {

constexpr int kExitInternal = 1;
constexpr int kExitUsage = 2;
constexpr int kExitUnreachable = 9;

constexpr char kSummary[] =
    "plait-worker: measures kernels and plans on one device for a plaitd\n\n";

constexpr char kExamples[] = R"(
Examples:
  plait-worker --check --device cpu
  plait-worker --list cuda
  plait-worker --device cpu --server plait.example.com:7402 --tls-cert w.pem --tls-key w.key
)";

// The width of "--server ADDRESS", the widest.
constexpr int kOptionsWidth = 18;

// Process ids and thread counts are ints.
absl::string_view ExpectedInt(absl::string_view value) {
  int number = 0;
  return absl::SimpleAtoi(value, &number) ? "" : "a smaller number";
}

constexpr OptionSpec kOptions[] = {
    {"--device", OptionKind::kText, "DEVICE", "cpu (default), cuda:0 or reference"},
    {"--server", OptionKind::kText, "ADDRESS",
     "the daemon's worker_listen, HOST:PORT or unix:PATH"},
    {"--threads", OptionKind::kInteger, "N", "cores granted to the device; 0: all (default)", "",
     ExpectedInt},
    {"--instruction-set", OptionKind::kText, "NAME",
     "use no better one: generic, avx2, avx512, avx512_bf16 or amx (default: the best\nthere is)",
     "", ExpectedInstructionSet},
    {"--memory-bytes", OptionKind::kInteger, "N", "memory granted to the device; 0: all (default)"},
    {"--blobs", OptionKind::kAnyText, "FOLDER",
     "where a daemon of this machine keeps its blobs, to read them there (default: ask\nit for "
     "them)"},
    {"--kernel-cache", OptionKind::kAnyText, "FOLDER",
     "where kernels that a GPU's worker compiles are kept for the next one: a folder of\nthis user "
     "alone (default: nowhere)"},
    {"--id", OptionKind::kAnyText, "NAME",
     "the worker's name; unique (default: host, device and process id)"},
    {"--parent", OptionKind::kInteger, "PID", "end when this process, the parent, ends", "",
     ExpectedInt},
    {"--tls-ca", OptionKind::kAnyText, "FILE",
     "who may sign the server (PEM; default: the system's authorities)"},
    {"--tls-cert", OptionKind::kAnyText, "FILE",
     "the certificate to show to the server (PEM), with"},
    {"--tls-key", OptionKind::kAnyText, "FILE", "its key (PEM)"},
    {"--check", OptionKind::kSwitch, "",
     "open the device, compare its kernels with the reference, print it as JSON, and\n"
     "end (0: it works, 1: a kernel is wrong, 9: it is not there)"},
    {"--list", OptionKind::kAnyText, "BACKEND",
     "print the ids of the devices that there are of cpu or cuda, one a line, and end\n"
     "(0: there are some, 9: there is none)"},
    {"--help", OptionKind::kSwitch, "", "print this and end", "-h"},
};

// Process ids repeat on other hosts, and in a container that is started again; devices on one host
// have a worker each.
std::string UniqueId(absl::string_view device) {
  char host[128] = {};
  gethostname(host, sizeof(host) - 1);
  return absl::StrCat(host, "-", device, "-", getpid(), "-", absl::ToUnixMillis(absl::Now()));
}

// Errors: InvalidArgument.
absl::StatusOr<Arguments> ParseWords(const std::vector<std::string>& words) {
  PLAIT_ASSIGN_OR_RETURN(Arguments arguments, ParseArguments(words, kOptions, ""));
  if (!arguments.Has("--server") && !arguments.Has("--check") && !arguments.Has("--list")) {
    return absl::InvalidArgumentError("--server ADDRESS is required");
  }
  return arguments;
}

void PrintDevice(Executor& executor, int kernels_checked) {
  const DeviceDescription& device = executor.device();
  const Yardsticks yardsticks = executor.ReadYardsticks();
  const nlohmann::json rates = {{"multiply_add_flops_per_us", yardsticks.multiply_add_flops_per_us},
                                {"read_bytes_per_us", yardsticks.read_bytes_per_us}};
  const nlohmann::json description = {{"id", device.id},
                                      {"name", device.name},
                                      {"fingerprint", device.fingerprint},
                                      {"instruction_set", device.instruction_set},
                                      {"cores", device.threads},
                                      {"memory_bytes", device.memory_bytes},
                                      {"yardsticks", rates},
                                      {"kernels_checked", kernels_checked}};
  std::printf("%s\n", description.dump().c_str());
}

int Fail(const absl::Status& status, int code) {
  std::fprintf(stderr, "plait-worker: %s\n", std::string(status.message()).c_str());
  return code;
}

// Checks the device, prints it, and returns the exit code.
int Check(Executor& executor, const KernelCatalog& catalog) {
  const absl::StatusOr<int> kernels_checked = RunSelfTest(executor, catalog);
  if (!kernels_checked.ok()) return Fail(kernels_checked.status(), kExitInternal);
  PrintDevice(executor, *kernels_checked);
  return 0;
}

// Works for the server until it cannot be reached; returns the exit code.
int Work(const Arguments& arguments, absl::string_view device, Executor& executor,
         const KernelCatalog& catalog) {
  const wire::ServerAddress server = {
      .address = arguments.Text("--server"),
      .ca_file = arguments.Text("--tls-ca"),
      .cert_file = arguments.Text("--tls-cert"),
      .key_file = arguments.Text("--tls-key"),
      // Tasks carry whole graphs and plans.
      .message_bytes_max = std::numeric_limits<int>::max(),
  };
  const absl::StatusOr<std::shared_ptr<grpc::Channel>> channel = wire::OpenChannel(server);
  if (!channel.ok()) return Fail(channel.status(), kExitUsage);
  SynchronizeOptions options;
  options.blobs_folder = arguments.Text("--blobs");
  options.worker_id = arguments.Text("--id");
  if (options.worker_id.empty()) options.worker_id = UniqueId(device);
  options.family_version = [&catalog](absl::string_view family) {
    return std::string(catalog.Version(family));
  };
  const absl::Status ended = SynchronizeForever(executor, *channel, options);
  return Fail(ended, absl::IsDataLoss(ended)   ? kExitDeviceFailed
                     : absl::IsNotFound(ended) ? kExitDeviceLost
                                               : kExitUnreachable);
}

int List(absl::string_view backend) {
  const absl::StatusOr<std::vector<std::string>> ids = DeviceIdsOf(backend);
  if (!ids.ok()) return Fail(ids.status(), kExitUnreachable);
  for (const std::string& id : *ids) std::printf("%s\n", id.c_str());
  if (!ids->empty()) return 0;
  return Fail(absl::NotFoundError(absl::StrCat(backend, ": there are no devices")),
              kExitUnreachable);
}

int Main(const std::vector<std::string>& words) {
  signal(SIGPIPE, SIG_IGN);
  // Whoever started us may ignore it, and then nobody can tell how a child ended.
  signal(SIGCHLD, SIG_DFL);
  if (AsksForHelp(words)) {
    const std::string help = absl::StrCat(kSummary, HelpTextOf(kOptions, kOptionsWidth), kExamples);
    std::fputs(help.c_str(), stdout);
    return 0;
  }
  const absl::StatusOr<Arguments> arguments = ParseWords(words);
  if (!arguments.ok()) return Fail(arguments.status(), kExitUsage);
  if (arguments->Has("--list")) return List(arguments->Text("--list"));
  if (const int64_t parent = arguments->Integer("--parent"); parent != 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // It may have died before the kernel was told.
    if (getppid() != parent) return kExitUnreachable;
  }
  const std::string device = arguments->Text("--device", "cpu");
  const absl::StatusOr<std::unique_ptr<Executor>> executor =
      OpenExecutor(device, {.threads = static_cast<int>(arguments->Integer("--threads")),
                            .memory_bytes_max = arguments->Integer("--memory-bytes"),
                            .pins_threads = true,
                            .instruction_set = arguments->Text("--instruction-set"),
                            .kernel_cache = arguments->Text("--kernel-cache")});
  if (!executor.ok()) return Fail(executor.status(), kExitUnreachable);
  const absl::StatusOr<std::unique_ptr<KernelCatalog>> catalog = CatalogFor((*executor)->device());
  if (!catalog.ok()) return Fail(catalog.status(), kExitInternal);
  if (arguments->Has("--check")) return Check(**executor, **catalog);
  wire::KeepGrpcUntilExit();
  return Work(*arguments, device, **executor, **catalog);
}

}  // namespace
}  // namespace plait

int main(int argc, char** argv) {
  return plait::Main(std::vector<std::string>(argv + 1, argv + argc));
}
