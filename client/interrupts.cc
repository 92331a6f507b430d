#include "client/interrupts.h"

#include <csignal>
#include <cstdint>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/status_macros.h"
#include "client/exit_code.h"

namespace plait {

Interrupts::~Interrupts() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  PLAIT_CHECK(write(stop_, &one, sizeof(one)) == sizeof(one));
  thread_.join();
  close(signals_);
  close(stop_);
}

void Interrupts::Start() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  PLAIT_CHECK(pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0);
  // Blocked first: a signal in between would end the program by its default action.
  signals_ = signalfd(-1, &set, SFD_CLOEXEC);
  stop_ = eventfd(0, EFD_CLOEXEC);
  PLAIT_CHECK(signals_ >= 0 && stop_ >= 0);
  thread_ = std::thread([this] { Wait(); });
}

void Interrupts::SetHandler(std::function<void()> handler) {
  std::thread running;
  {
    absl::MutexLock lock(&mutex_);
    // Under the lock and before the join: the next signal finds the new handler.
    handler_ = std::move(handler);
    running = std::move(caller_);
  }
  if (running.joinable()) running.join();
}

bool Interrupts::interrupted() const {
  absl::MutexLock lock(&mutex_);
  return count_ > 0;
}

void Interrupts::Wait() {
  while (true) {
    // The second one ends the thread.
    pollfd descriptors[] = {{signals_, POLLIN, 0}, {stop_, POLLIN, 0}};
    if (poll(descriptors, 2, -1) < 0) continue;
    if (descriptors[1].revents != 0) return;
    signalfd_siginfo signal;
    if (read(signals_, &signal, sizeof(signal)) != sizeof(signal)) continue;
    absl::MutexLock lock(&mutex_);
    ++count_;
    // An embedded server and its lock die with this process by themselves.
    if (count_ > 1 || handler_ == nullptr) _exit(static_cast<int>(ExitCode::kCancelled));
    // On a thread of its own: a call to a dead server must not keep the second signal waiting.
    caller_ = std::thread(handler_);
  }
}

}  // namespace plait
