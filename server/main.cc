#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/wire/grpc_lifetime.h"
#include "server/command_line.h"
#include "server/config_file.h"
#include "server/search_child/search_child.h"
#include "server/server.h"
#include "server/telemetry/log.h"

namespace plait {
namespace {

constexpr int kExitInternal = 1;
constexpr int kExitUsage = 2;

// Two codes: what the operator can correct in the settings, and all else.
int Fail(const absl::Status& status) {
  std::fprintf(stderr, "plaitd: %s\n", std::string(status.message()).c_str());
  return absl::IsInvalidArgument(status) || absl::IsNotFound(status) ? kExitUsage : kExitInternal;
}

absl::StatusOr<Config> LoadConfig(const CommandLine& line) {
  SettingValues file;
  if (!line.config_file.empty()) {
    PLAIT_ASSIGN_OR_RETURN(file, ReadConfigFile(line.config_file));
  }
  return MakeConfig(line.flags, SettingsFromEnvironment(environ), file);
}

int Serve(const Config& config, const sigset_t& signals) {
  if (const absl::Status status = SetLogLevel(config.log_level); !status.ok()) return Fail(status);
  wire::KeepGrpcUntilExit();
  absl::StatusOr<std::unique_ptr<Server>> server = Server::Start(config, SystemClock());
  if (!server.ok()) return Fail(server.status());
  // One line for whoever has started us: tests and the CLI's embedded mode read it.
  const nlohmann::json listening = {{"event", "listening"},
                                    {"address", (*server)->address()},
                                    {"worker_address", (*server)->worker_address()},
                                    {"metrics_address", (*server)->metrics_address()},
                                    {"health_address", (*server)->health_address()},
                                    {"pid", getpid()}};
  std::printf("%s\n", listening.dump().c_str());
  std::fflush(stdout);
  LogInfo("server.listening", {{"address", (*server)->address()}});
  while (!(*server)->IsDrained()) {
    // A second of waiting for a signal is also the pace of Tick.
    const timespec second = {1, 0};
    const int signal = sigtimedwait(&signals, nullptr, &second);
    if (signal > 0) {
      LogInfo("server.stopping", {{"signal", strsignal(signal)}});
      break;
    }
    (*server)->Tick();
  }
  // Running jobs are queued again in here; a second signal finds SIGTERM blocked, so only SIGKILL
  // is faster, and that loses nothing either.
  server->reset();
  LogInfo("server.stopped", {});
  return 0;
}

int Main(int argc, char** argv) {
  // First of all, because gRPC creates threads that would inherit another mask.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  // Whoever started us may ignore it, and then nobody can tell how a child ended.
  signal(SIGCHLD, SIG_DFL);

  const CommandLine line = ParseCommandLine(argc, argv, Version());
  if (line.exit_code) {
    std::fprintf(*line.exit_code == 0 ? stdout : stderr, "%s\n", line.output.c_str());
    return *line.exit_code;
  }
  const absl::StatusOr<Config> config = LoadConfig(line);
  if (!config.ok()) return Fail(config.status());
  return Serve(*config, signals);
}

}  // namespace
}  // namespace plait

int main(int argc, char** argv) {
  // Before anything else: the child must not read settings, open files or block signals.
  if (argc == 3 && std::strcmp(argv[1], "--search-child") == 0) {
    return plait::SearchChildMain(argv[2]);
  }
  return plait::Main(argc, argv);
}
