#include "storage/directory_lock.h"

#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "absl/strings/match.h"
#include "tests/storage/store_test.h"

namespace plait {
namespace {

// The number of a process that has ended.
pid_t DeadProcess() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  return child;
}

// A lock of `directory` in which the process `holder` wrote itself.
FileDescriptor LockedBy(pid_t holder, const std::string& directory) {
  const std::string path = directory + "/lock";
  std::ofstream(path) << holder << "\n";
  FileDescriptor file(open(path.c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_EQ(flock(file.number(), LOCK_EX | LOCK_NB), 0);
  return file;
}

// How many of this process's descriptors lead to the file.
int DescriptorsOf(const std::string& path) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;  // one may be closed by now
    count += std::filesystem::read_symlink(entry.path(), error) == path ? 1 : 0;
  }
  return count;
}

// A daemon's half-started child holds its lock for a moment longer than a killed daemon lives.
TEST(DirectoryLockTest, WaitsForALockWhoseHolderIsDead) {
  TemporaryDirectory directory;
  FileDescriptor file = LockedBy(DeadProcess(), directory.path());
  const std::string path = std::filesystem::canonical(directory.path() + "/lock").string();
  std::thread child([&] {
    while (DescriptorsOf(path) < 2) std::this_thread::yield();  // until Acquire has opened it
    file = FileDescriptor();
  });
  const absl::StatusOr<DirectoryLock> lock = DirectoryLock::Acquire(directory.path());
  child.join();
  EXPECT_TRUE(lock.ok()) << lock.status();
}

TEST(DirectoryLockTest, GivesUpOnADeadHoldersLockThatStays) {
  TemporaryDirectory directory;
  const pid_t holder = DeadProcess();
  const FileDescriptor file = LockedBy(holder, directory.path());
  const absl::Status status = DirectoryLock::Acquire(directory.path()).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), absl::StrCat("process ", holder))) << status;
}

}  // namespace
}  // namespace plait
