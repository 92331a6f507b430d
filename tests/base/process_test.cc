#include "base/process.h"

#include <csignal>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file_descriptor.h"

namespace plait {
namespace {

using testing::HasSubstr;

// 30 s: far more than a shell needs; a test that waits for it has failed.
constexpr absl::Duration kLong = absl::Seconds(30);

struct Pipe {
  Pipe() {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    read_end = FileDescriptor(ends[0]);
    write_end = FileDescriptor(ends[1]);
  }
  // Everything written until nobody has the other end any more.
  std::string ReadAll() {
    write_end = FileDescriptor();
    std::string text;
    char bytes[4096];
    ssize_t count = 0;
    while ((count = read(read_end.number(), bytes, sizeof(bytes))) > 0) {
      text.append(bytes, static_cast<size_t>(count));
    }
    return text;
  }
  FileDescriptor read_end;
  FileDescriptor write_end;
};

using Texts = std::vector<std::string>;

ProcessOptions Shell(const std::string& script) {
  ProcessOptions options;
  options.program = "/bin/sh";
  options.arguments = {"sh", "-c", script};
  options.environment = Texts{"PATH=/usr/bin:/bin"};
  return options;
}

// What the script prints.
std::string OutputOf(ProcessOptions options) {
  Pipe pipe;
  options.descriptors.push_back({pipe.write_end.number(), STDOUT_FILENO});
  absl::StatusOr<Process> process = Process::Start(options);
  EXPECT_TRUE(process.ok()) << process.status();
  const std::string text = pipe.ReadAll();
  EXPECT_TRUE(process->Await(kLong).has_value());
  return text;
}

TEST(ProcessTest, TellsTheExitCode) {
  absl::StatusOr<Process> process = Process::Start(Shell("exit 7"));
  ASSERT_TRUE(process.ok()) << process.status();
  EXPECT_GT(process->id(), 0);
  const std::optional<ProcessEnd> end = process->Await(kLong);
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->exit_code, 7);
  EXPECT_EQ(end->signal, 0);
  EXPECT_EQ(process->id(), 0);
}

TEST(ProcessTest, TellsTheSignal) {
  absl::StatusOr<Process> process = Process::Start(Shell("exec sleep 1000"));
  ASSERT_TRUE(process.ok()) << process.status();
  EXPECT_FALSE(process->Poll().has_value());
  process->Signal(SIGTERM);
  EXPECT_EQ(process->Await(kLong)->signal, SIGTERM);
}

// As a shell's `trap '' CHLD` leaves it to the programs that it starts.
TEST(ProcessTest, AnEndThatNobodyCanTellIsNoSuccess) {
  const auto old_handler = signal(SIGCHLD, SIG_IGN);
  absl::StatusOr<Process> polled = Process::Start(Shell("exit 7"));
  absl::StatusOr<Process> killed = Process::Start(Shell("exec sleep 1000"));
  ASSERT_TRUE(polled.ok() && killed.ok());
  const std::optional<ProcessEnd> end = polled->Await(kLong);
  const ProcessEnd killed_end = killed->Kill();
  signal(SIGCHLD, old_handler);
  ASSERT_TRUE(end.has_value());
  EXPECT_NE(end->exit_code, 0);
  EXPECT_NE(killed_end.exit_code, 0);
}

TEST(ProcessTest, KillTellsOfAnEndThatCameBefore) {
  absl::StatusOr<Process> process = Process::Start(Shell("exit 7"));
  ASSERT_TRUE(process.ok()) << process.status();
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(process->id()), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(process->Kill().exit_code, 7);
}

TEST(ProcessTest, NamesAProgramThatCannotBeStarted) {
  ProcessOptions options = Shell("");
  options.program = "/no/such";
  const absl::StatusOr<Process> process = Process::Start(options);
  EXPECT_EQ(process.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(process.status().message()),
              HasSubstr("/no/such cannot be started: No such file"));
}

TEST(ProcessTest, SaysSoWhenThereAreNoMoreDescriptors) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  // Room for the pipe of errors, and for none or some of the copies behind it.
  const int next = dup(STDIN_FILENO);
  ASSERT_GE(next, 0);
  close(next);
  for (int room = 3; room <= 5; ++room) {
    rlimit tight = before;
    tight.rlim_cur = static_cast<rlim_t>(next + room);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
    const absl::Status status = Process::Start(Shell("exit 0")).status();
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << room;
  }
}

TEST(ProcessTest, KillsItsChildWhenItDies) {
  pid_t id = 0;
  {
    absl::StatusOr<Process> process = Process::Start(Shell("exec sleep 1000"));
    ASSERT_TRUE(process.ok()) << process.status();
    id = process->id();
    Process moved = *std::move(process);
    EXPECT_EQ(moved.id(), id);
    EXPECT_EQ(kill(id, 0), 0);
  }
  // A zombie could still be sent a signal.
  EXPECT_NE(kill(id, 0), 0);
}

TEST(ProcessTest, KillsAChildThatIsStopped) {
  absl::StatusOr<Process> process = Process::Start(Shell("exec sleep 1000"));
  ASSERT_TRUE(process.ok()) << process.status();
  process->Signal(SIGSTOP);
  EXPECT_EQ(process->Kill().signal, SIGKILL);
}

TEST(ProcessTest, TheKernelKillsTheChildOfAThreadThatHasDied) {
  absl::StatusOr<Process> process;
  std::thread([&] { process = Process::Start(Shell("exec sleep 1000")); }).join();
  ASSERT_TRUE(process.ok()) << process.status();
  EXPECT_EQ(process->Await(kLong)->signal, SIGKILL);
}

TEST(ProcessTest, GivesTheChildASessionOfItsOwn) {
  absl::StatusOr<Process> process = Process::Start(Shell("exec sleep 1000"));
  ASSERT_TRUE(process.ok()) << process.status();
  EXPECT_EQ(getsid(process->id()), process->id());
}

TEST(ProcessTest, PlacesDescriptorsAndClosesAllOthers) {
  // 3 and 4 are swapped, which needs copies; the third is open without O_CLOEXEC.
  Pipe first;
  Pipe second;
  const FileDescriptor leaked(dup(first.read_end.number()));
  ProcessOptions options = Shell("echo one >&3; echo two >&4; ls /proc/self/fd | wc -l");
  options.descriptors = {{first.write_end.number(), 3}, {second.write_end.number(), 4}};
  // 0 to 4, and the folder that ls reads.
  EXPECT_THAT(OutputOf(options), HasSubstr("6"));
  EXPECT_EQ(first.ReadAll(), "one\n");
  EXPECT_EQ(second.ReadAll(), "two\n");
}

TEST(ProcessTest, PlacesDescriptorsThatAreEachOthersTargets) {
  Pipe pipe;
  const int a = pipe.read_end.number();
  const int b = pipe.write_end.number();
  ProcessOptions options = Shell("");
  options.arguments[2] = "echo swapped >&" + std::to_string(a);
  options.descriptors = {{b, a}, {a, b}};
  absl::StatusOr<Process> process = Process::Start(options);
  ASSERT_TRUE(process.ok()) << process.status();
  EXPECT_EQ(pipe.ReadAll(), "swapped\n");
  EXPECT_EQ(process->Await(kLong)->exit_code, 0);
}

TEST(ProcessTest, GivesTheEnvironmentAskedFor) {
  ASSERT_EQ(setenv("PLAIT_TEST_VARIABLE", "ours", 1), 0);
  ProcessOptions options = Shell("echo \"[$PLAIT_TEST_VARIABLE]\"");
  EXPECT_EQ(OutputOf(options), "[]\n");
  options.environment = Texts{"PLAIT_TEST_VARIABLE=theirs"};
  EXPECT_EQ(OutputOf(options), "[theirs]\n");
  options.environment = std::nullopt;
  EXPECT_EQ(OutputOf(options), "[ours]\n");
}

TEST(ProcessTest, StandardInputIsEmptyUnlessPlaced) { EXPECT_EQ(OutputOf(Shell("cat")), ""); }

TEST(ProcessTest, NoSignalIsBlockedOrIgnoredInTheChild) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const auto old_handler = signal(SIGPIPE, SIG_IGN);
  const std::string status =
      OutputOf(Shell("while read line; do echo $line; done "
                     "< /proc/self/status"));
  signal(SIGPIPE, old_handler);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_THAT(status, HasSubstr("SigBlk: 0000000000000000"));
  EXPECT_THAT(status, HasSubstr("SigIgn: 0000000000000000"));
}

}  // namespace
}  // namespace plait
