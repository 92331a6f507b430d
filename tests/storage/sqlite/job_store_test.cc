#include <set>
#include <thread>

#include <signal.h>
#include <sys/wait.h>

#include "base/random.h"
#include "storage/sqlite/sqlite.h"
#include "tests/storage/store_test.h"

namespace plait {
namespace {

// Submits and runs jobs from several threads, and tells each acknowledged change as one byte-wide
// record on the pipe, until it is killed.
[[noreturn]] void WriteUntilKilled(const std::string& directory, int pipe_end, int round) {
  ManualClock clock;
  absl::StatusOr<Stores> stores = OpenStores("sqlite", {directory}, clock);
  if (!stores.ok()) _exit(1);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&, thread] {
      for (int number = 0;; ++number) {
        JobSubmission submission;
        submission.job.set_id(absl::StrCat("j-", round, "-", thread, "-", number));
        submission.job.set_tenant("alice");
        if (!stores->jobs->Submit(submission).ok()) _exit(2);
        // One write of less than PIPE_BUF bytes is atomic.
        const std::string line = submission.job.id() + "\n";
        if (write(pipe_end, line.data(), line.size()) < 0) _exit(3);
        const auto leased = stores->jobs->Acquire({"w", {}, absl::Seconds(1)});
        if (!leased.ok()) _exit(4);
        v1::Event event;
        event.set_type(v1::EVENT_TYPE_PROGRESS);
        if (leased->has_value()) stores->jobs->AppendEvent((*leased)->lease, event).IgnoreError();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  _exit(0);
}

// Reads acknowledged ids until `count` of them have come, kills the child, and reads the rest.
void CollectAndKill(pid_t child, int pipe_end, size_t count, std::set<std::string>& acknowledged) {
  std::string text;
  char buffer[4096];
  size_t lines = 0;
  bool killed = false;
  while (true) {
    const ssize_t bytes = read(pipe_end, buffer, sizeof(buffer));
    if (bytes <= 0) break;
    text.append(buffer, bytes);
    lines += std::count(buffer, buffer + bytes, '\n');
    if (!killed && lines >= count) {
      kill(child, SIGKILL);
      killed = true;
    }
  }
  for (size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos;
       begin = end + 1) {
    acknowledged.insert(text.substr(begin, end - begin));
  }
}

TEST(SqliteJobStoreTest, LosesNoAcknowledgedJobWhenKilled) {
  TemporaryDirectory directory;
  Random random(20240607);
  std::set<std::string> acknowledged;
  for (int round = 0; round < 8; ++round) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      close(ends[0]);
      WriteUntilKilled(directory.path(), ends[1], round);
    }
    close(ends[1]);
    const size_t before = acknowledged.size();
    CollectAndKill(child, ends[0], random.Integer(1, 60), acknowledged);
    close(ends[0]);
    int state = 0;
    ASSERT_EQ(waitpid(child, &state, 0), child);
    ASSERT_TRUE(WIFSIGNALED(state)) << "the child ended by itself: " << WEXITSTATUS(state);
    ASSERT_GT(acknowledged.size(), before);

    ManualClock clock;
    absl::StatusOr<Stores> stores = OpenStores("sqlite", {directory.path()}, clock);
    ASSERT_TRUE(stores.ok()) << stores.status();
    for (const std::string& id : acknowledged) {
      ASSERT_TRUE(stores->jobs->Get("alice", id).ok()) << id << " in round " << round;
    }
    ASSERT_TRUE(stores->jobs->RecoverRunningJobs().ok());
    ASSERT_EQ(stores->jobs->Count()->running, 0);
  }
  const auto database = Database::Open(directory.path() + "/jobs.db", Durability::kFull);
  absl::StatusOr<Statement> check = (*database)->Query("PRAGMA integrity_check");
  ASSERT_TRUE(check.ok() && *check->Step());
  EXPECT_EQ(check->Text(0), "ok");
}

}  // namespace
}  // namespace plait
