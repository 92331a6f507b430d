#include "storage/directory_lock.h"

#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "proto/wire/error.h"
#include "storage/durable_directory.h"
#include "storage/file_error.h"

namespace plait {
namespace {

// A child that a killed daemon was just starting holds the lock until the kernel ends it, too.
constexpr int kTriesMax = 40;
constexpr absl::Duration kTryInterval = absl::Milliseconds(50);

// The process that wrote itself into the lock; 0 when none did.
pid_t HolderOf(int file) {
  char text[32];
  const ssize_t length = pread(file, text, sizeof(text), 0);
  pid_t holder = 0;
  if (length <= 0 || !absl::SimpleAtoi(absl::string_view(text, length), &holder)) return 0;
  return holder;
}

// True when the file is locked now. Waits a little for a lock whose holder is dead. With flock, and
// not with the file's existence, because the kernel drops a lock with its holder.
bool Lock(int file) {
  for (int tries = 1; flock(file, LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (errno != EWOULDBLOCK) return false;
    const pid_t holder = HolderOf(file);
    const bool is_dead = holder > 0 && kill(holder, 0) != 0 && errno == ESRCH;
    errno = EWOULDBLOCK;
    if (!is_dead || tries == kTriesMax) return false;
    absl::SleepFor(kTryInterval);
  }
  return true;
}

}  // namespace

absl::StatusOr<DirectoryLock> DirectoryLock::Acquire(const std::string& directory) {
  PLAIT_RETURN_IF_ERROR(Annotate(MakeDurableDirectory(directory), "data directory"));
  const std::string path = directory + "/lock";
  // O_CLOEXEC: a worker or search child that inherited it would hold the lock for longer.
  FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.is_open()) return FileError(errno, path);
  if (!Lock(file.number())) {
    if (errno != EWOULDBLOCK) return FileError(errno, path);
    const pid_t holder = HolderOf(file.number());
    return wire::Error(
        v1::ERROR_REASON_WRONG_STATE,
        absl::StrCat("data directory ", directory, ": is used by ",
                     holder > 0 ? absl::StrCat("process ", holder) : "another process",
                     "; stop it or choose another directory"));
  }
  // For the message to a second daemon; the lock itself does not need it.
  const std::string holder = absl::StrCat(getpid(), "\n");
  if (ftruncate(file.number(), 0) != 0 ||
      pwrite(file.number(), holder.data(), holder.size(), 0) < 0) {
    return FileError(errno, path);
  }
  return DirectoryLock(std::move(file));
}

}  // namespace plait
