#include "client/server_session.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "client/instruction_set_option.h"
#include "gpu_worker/backends/open_executor.h"
#include "proto/wire/channel.h"
#include "proto/wire/error.h"
#include "proto/wire/names.h"

namespace plait {
namespace {

// Two minutes: one that hangs while it opens a GPU is killed after one (worker_start_seconds_max),
// and the next has as long.
constexpr absl::Duration kWorkerTimeout = absl::Minutes(2);
constexpr absl::Duration kPollInterval = absl::Milliseconds(50);
// 1,000: jobs that earlier programs may have left behind; far more than ever will.
constexpr int kLeftJobsMax = 1000;

constexpr OptionSpec kCacheFolderOption = {"--cache-dir", OptionKind::kText, "DIR",
                                           "profiles and results of runs without --server"};

absl::StatusOr<std::unique_ptr<Client>> ClientFor(const CommandContext& context,
                                                  const std::string& address,
                                                  const RetryPolicy& policy = {}) {
  const Arguments& arguments = context.arguments;
  PLAIT_ASSIGN_OR_RETURN(auto channel,
                         wire::OpenChannel({.address = address,
                                            .ca_file = arguments.Text("--tls-ca"),
                                            .cert_file = arguments.Text("--tls-cert"),
                                            .key_file = arguments.Text("--tls-key"),
                                            .insecure = arguments.Has("--insecure")}));
  return std::make_unique<Client>(std::move(channel), policy);
}

absl::Status AwaitDevice(const Client& client, const std::string& device) {
  const absl::Time end = absl::Now() + kWorkerTimeout;
  while (absl::Now() < end) {
    PLAIT_ASSIGN_OR_RETURN(const v1::ListDevicesResponse response, client.ListDevices());
    for (const v1::AvailableDevice& available : response.devices()) {
      if (available.device().id() == device && available.workers() > 0) return absl::OkStatus();
    }
    absl::SleepFor(kPollInterval);
  }
  return wire::Error(v1::ERROR_REASON_DEVICE_UNAVAILABLE,
                     absl::StrCat("device ", device,
                                  " did not come up (plait devices lists those "
                                  "there are)"));
}

// Programs that were killed leave their jobs in the store; nobody waits for them any more.
absl::Status CancelLeftJobs(const Client& client) {
  for (const v1::JobState state : {v1::JOB_STATE_QUEUED, v1::JOB_STATE_RUNNING}) {
    PLAIT_ASSIGN_OR_RETURN(const auto jobs, client.ListJobs(state, "", kLeftJobsMax));
    for (const v1::Job& job : jobs) PLAIT_RETURN_IF_ERROR(client.CancelJob(job.id()).status());
  }
  return absl::OkStatus();
}

// At once, with what is missing, and not when a worker has failed to come up. The processor is
// always there.
absl::Status CheckWorkerDevice(const std::string& device) {
  if (device == wire::kComparingDevice) return absl::OkStatus();
  const absl::Status status = OpenExecutor(device, {}).status();
  return status.ok() ? status : wire::WithReason(status, v1::ERROR_REASON_DEVICE_UNAVAILABLE);
}

// What a named server would pass over without a word.
absl::Status CheckNoEmbeddedOption(const Arguments& arguments) {
  constexpr std::pair<absl::string_view, absl::string_view> kSettings[] = {
      {kCacheFolderOption.name, "data_dir"},
      {kInstructionSetOption.name, "worker_instruction_set"},
  };
  for (const auto& [option, setting] : kSettings) {
    if (!arguments.Has(option)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(option, ": is for runs without --server (plaitd has ", setting, ")"));
  }
  return absl::OkStatus();
}

}  // namespace

void AddServerOptions(std::vector<OptionSpec>* options) {
  options->push_back({"--server", OptionKind::kText, "ADDR",
                      "the server, HOST:PORT or unix:PATH (or PLAIT_SERVER)"});
  options->push_back({"--tls-ca", OptionKind::kText, "FILE", "who may sign the server (PEM)"});
  options->push_back({"--tls-cert", OptionKind::kText, "FILE", "the client's certificate (PEM)"});
  options->push_back({"--tls-key", OptionKind::kText, "FILE", "the key of --tls-cert (PEM)"});
  options->push_back({"--insecure", OptionKind::kSwitch, "",
                      "no TLS, also to another machine: whoever listens in reads models"});
}

void AddEmbeddedOptions(std::vector<OptionSpec>* options) {
  options->push_back(kCacheFolderOption);
  options->push_back(kInstructionSetOption);
}

// The option before the environment: what stands on the line is meant for this run.
absl::StatusOr<ServerSession> ConnectToServer(const CommandContext& context) {
  const std::string address = context.arguments.Text("--server", context.environment.server);
  if (address.empty()) {
    return absl::InvalidArgumentError("--server is missing (or set PLAIT_SERVER)");
  }
  ServerSession session;
  PLAIT_ASSIGN_OR_RETURN(session.client, ClientFor(context, address));
  return session;
}

absl::StatusOr<ServerSession> ConnectOrEmbed(const CommandContext& context,
                                             const std::string& device, int threads) {
  if (!context.arguments.Text("--server", context.environment.server).empty()) {
    PLAIT_RETURN_IF_ERROR(CheckNoEmbeddedOption(context.arguments));
    return ConnectToServer(context);
  }
  // Outputs for a device that is only described are compared on the processor.
  const std::string worker_device = wire::IsDescribedId(device) ? wire::kComparingDevice : device;
  PLAIT_RETURN_IF_ERROR(CheckWorkerDevice(worker_device));
  EmbeddedServer::Options options;
  options.program = absl::StrCat(context.environment.program_folder, "/plaitd");
  options.cache_folder =
      context.arguments.Text(kCacheFolderOption.name, context.environment.cache_folder);
  options.device = worker_device;
  options.threads = threads;
  options.instruction_set = context.arguments.Text(kInstructionSetOption.name);
  ServerSession session;
  PLAIT_ASSIGN_OR_RETURN(session.embedded, EmbeddedServer::Start(options, context.console.err));
  RetryPolicy policy;
  policy.server_end = [server = session.embedded.get()] { return server->CheckRunning(); };
  PLAIT_ASSIGN_OR_RETURN(session.client, ClientFor(context, session.embedded->address(), policy));
  // Before the worker is awaited: a left job would take it as soon as it comes.
  PLAIT_RETURN_IF_ERROR(CancelLeftJobs(*session.client));
  PLAIT_RETURN_IF_ERROR(AwaitDevice(*session.client, worker_device));
  return session;
}

}  // namespace plait
