#include "server/jobs/search_park.h"

#include <csignal>

#include <sys/syscall.h>
#include <unistd.h>

namespace plait {
namespace {

// By system call, because glibc has no functions of these names before 2.36.
FileDescriptor OpenProcess(pid_t process) {
  return FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
}

void Signal(const FileDescriptor& process, int signal) {
  syscall(SYS_pidfd_send_signal, process.number(), signal, nullptr, 0);
}

}  // namespace

void SearchPark::Add(pid_t child) {
  absl::MutexLock lock(&mutex_);
  Child& added = children_[child];
  added.process = OpenProcess(child);
  added.stopped_at = clock_.Monotonic();
  // A child that starts while something is timed would disturb it like the others.
  if (quiet_) Signal(added.process, SIGSTOP);
}

void SearchPark::Remove(pid_t child) {
  absl::MutexLock lock(&mutex_);
  children_.erase(child);
}

absl::Duration SearchPark::StoppedFor(pid_t child) {
  absl::MutexLock lock(&mutex_);
  const auto found = children_.find(child);
  if (found == children_.end()) return absl::ZeroDuration();
  const absl::Duration now_stopped =
      quiet_ ? clock_.Monotonic() - found->second.stopped_at : absl::ZeroDuration();
  return found->second.stopped_for + now_stopped;
}

void SearchPark::SetQuiet(bool quiet) {
  absl::MutexLock lock(&mutex_);
  if (quiet == quiet_) return;
  quiet_ = quiet;
  const absl::Duration now = clock_.Monotonic();
  for (auto& [number, child] : children_) {
    if (quiet) {
      child.stopped_at = now;
    } else {
      child.stopped_for += now - child.stopped_at;
    }
    // SIGSTOP cannot be caught, so a child has no say in it.
    Signal(child.process, quiet ? SIGSTOP : SIGCONT);
  }
}

}  // namespace plait
