#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace plait {

// The exit code of a process of which nobody can tell how it ended: this process ignores SIGCHLD.
inline constexpr int kExitUnknown = 255;

// How a process ended: by exiting with a code, or by a signal.
struct ProcessEnd {
  int exit_code = 0;
  int signal = 0;  // 0: it exited
};

// An open file of this process, and the number that it has in the child.
// Borrowed: Start copies it for the child, and the caller may close its own at once.
struct PlacedDescriptor {
  int descriptor = -1;
  int target = -1;
};

// Nothing is inherited by accident: files, environment and standard streams are what stands here.
struct ProcessOptions {
  std::string program;                 // a path; PATH is not searched
  std::vector<std::string> arguments;  // argv, the program's name included
  // "NAME=value"; nullopt: this process's own. Empty: nothing of ours reaches the child.
  std::optional<std::vector<std::string>> environment;
  // What the child gets besides our standard error. Standard input and output are /dev/null unless
  // they are placed; every other open file of ours is closed in the child. Borrowed during Start.
  std::vector<PlacedDescriptor> descriptors;
};

// A child process that never outlives its owner: it is killed with SIGKILL when this object dies
// and, by the kernel, when the thread that started it dies, however that happens. It runs in a
// session of its own, so that Ctrl-C at the terminal is its parent's to handle, with no signal
// blocked and the default action for each, and it leaves no zombie. Movable; not thread-safe.
//
// It is no sandbox: the child runs as the same user, and limits are its own to take.
class Process {
 public:
  // Starts the program; returns when it runs.
  // REQUIRES: the calling thread lives as long as the child shall.
  // Errors: Unavailable naming the program and why it cannot be started.
  // A program that is started but fails at once is no error here: Poll tells.
  static absl::StatusOr<Process> Start(const ProcessOptions& options);

  // No process.
  Process() = default;
  // Kills and waits, as Kill does.
  ~Process();
  Process(Process&& other) noexcept : id_(std::exchange(other.id_, 0)) {}
  Process& operator=(Process&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }

  // 0 when there is none, also after its end was seen.
  pid_t id() const { return id_; }

  // How the child has ended; nothing while it runs. The end is seen once: afterwards there is no
  // process any more. REQUIRES: there is a process.
  std::optional<ProcessEnd> Poll();

  // The same, waiting for it at most `time_max`.
  // Looks again and again with short pauses; REQUIRES: as Poll.
  std::optional<ProcessEnd> Await(absl::Duration time_max);

  // Sends SIGKILL and waits for the end. REQUIRES: there is a process.
  // SIGKILL ends a stopped process, too.
  ProcessEnd Kill();

  // Sends another signal, such as SIGTERM. REQUIRES: there is a process.
  void Signal(int signal) const;

 private:
  explicit Process(pid_t id) : id_(id) {}

  pid_t id_ = 0;
};

}  // namespace plait
