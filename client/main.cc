#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include <unistd.h>

#include "base/program_folder.h"
#include "client/cli.h"
#include "proto/wire/grpc_lifetime.h"

namespace {

std::string EnvironmentVariable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The XDG base directory specification's place for caches.
std::string CacheFolder() {
  const std::string cache = EnvironmentVariable("XDG_CACHE_HOME");
  if (!cache.empty() && cache[0] == '/') return cache + "/plait";
  const std::string home = EnvironmentVariable("HOME");
  if (!home.empty()) return home + "/.cache/plait";
  return "/tmp/plait-" + std::to_string(getuid());
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  plait::Interrupts interrupts;
  // First: threads that gRPC starts later inherit the blocked signals.
  interrupts.Start();
  // Whoever started us may ignore it, and then nobody can tell how a child ended.
  signal(SIGCHLD, SIG_DFL);
  plait::wire::KeepGrpcUntilExit();
  plait::Console console = {std::cout, std::cerr, isatty(STDERR_FILENO) == 1};
  plait::Environment environment = {plait::ProgramFolder(), CacheFolder(),
                                    EnvironmentVariable("PLAIT_SERVER")};
  const std::string python = EnvironmentVariable("PLAIT_RUNTIMES_PYTHON");
  if (!python.empty()) environment.runtimes_python = python;
  const plait::ExitCode code = plait::RunCli(words, console, interrupts, environment);
  // As on a full disk: what a script reads is not all there.
  if (!std::cout.flush()) {
    std::cerr << "plait: standard output cannot be written\n";
    return static_cast<int>(plait::ExitCode::kInternal);
  }
  return static_cast<int>(code);
}
