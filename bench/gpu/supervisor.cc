#include "bench/gpu/supervisor.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace plait::cuda {
namespace {

constexpr int kRestartsMax = 500;
constexpr auto kSilenceMax = std::chrono::seconds(60);
constexpr auto kGrace = std::chrono::seconds(15);  // between SIGTERM and SIGKILL

volatile std::sig_atomic_t stop_requested = 0;

void OnStop(int) { stop_requested = 1; }

void AppendLine(const std::string& out, const char* line, size_t bytes) {
  std::FILE* file = std::fopen(out.c_str(), "ab");
  if (file == nullptr) return;
  std::fwrite(line, 1, bytes, file);
  std::fputc('\n', file);
  std::fclose(file);
}

}  // namespace

void Attempt::Begin(const std::string& line) {
  line_bytes_ = 0;
  std::atomic_ref<uint64_t>(beats_).fetch_add(1);
  if (line.size() > kLineBytesMax) return;
  std::memcpy(line_, line.data(), line.size());
  line_bytes_ = line.size();
}

void Attempt::Beat() { std::atomic_ref<uint64_t>(beats_).fetch_add(1); }

bool StopRequested() { return stop_requested != 0; }

void CatchStopSignals() {
  struct sigaction action = {};
  action.sa_handler = OnStop;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
}

int Supervise(const std::string& out, const std::function<int(Attempt&)>& work) {
  CatchStopSignals();
  void* shared =
      mmap(nullptr, sizeof(Attempt), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 1;
  auto* attempt = std::construct_at(static_cast<Attempt*>(shared));
  for (int start = 0; start < kRestartsMax; ++start) {
    attempt->line_bytes_ = 0;
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child < 0) return 1;
    if (child == 0) {
      const int status = work(*attempt);
      std::fflush(nullptr);
      _exit(status);
    }
    using Clock = std::chrono::steady_clock;
    uint64_t beats = 0;
    Clock::time_point heard = Clock::now(), stop_sent = Clock::time_point::max();
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      const uint64_t now = std::atomic_ref<uint64_t>(attempt->beats_).load();
      if (now != beats) heard = Clock::now();
      beats = now;
      if (StopRequested() && stop_sent == Clock::time_point::max()) {
        kill(child, SIGTERM);
        stop_sent = Clock::now();
      }
      const bool late = StopRequested() && Clock::now() > stop_sent + kGrace;
      if (late || Clock::now() > heard + kSilenceMax) kill(child, SIGKILL);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) != kRestart) return WEXITSTATUS(status);
    if (StopRequested()) return 0;
    if (WIFSIGNALED(status)) {
      std::fprintf(stderr, "worker died of signal %d; going on behind it\n", WTERMSIG(status));
      if (attempt->line_bytes_ == 0) return 1;  // it would die there again
      AppendLine(out, attempt->line_, attempt->line_bytes_);
    }
  }
  std::fprintf(stderr, "gave up after %d restarts\n", kRestartsMax);
  return 1;
}

}  // namespace plait::cuda
