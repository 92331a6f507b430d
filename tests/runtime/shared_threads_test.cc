#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include "plait/runtime.h"
#include "tests/runtime/product_model.h"
#include "tests/runtime/session.h"

// On how many threads sessions that run at the same time compute, as the system sees it.

namespace plait {
namespace {

// A run takes some milliseconds, beside which it is nothing how long a thread that has run is to be
// seen until it waits for its next turn.
constexpr int64_t kWidth = 1024;
constexpr int64_t kRows = 1024;
constexpr int kRuns = 16;  // that are looked at

// Lets the calling thread, and those that it starts, use the first processors only.
class ProcessorsScope {
 public:
  explicit ProcessorsScope(int count) {
    sched_getaffinity(0, sizeof(before_), &before_);
    cpu_set_t few;
    CPU_ZERO(&few);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&few) < count; ++i) {
      if (CPU_ISSET(i, &before_)) CPU_SET(i, &few);
    }
    sched_setaffinity(0, sizeof(few), &few);
  }
  ~ProcessorsScope() { sched_setaffinity(0, sizeof(before_), &before_); }
  ProcessorsScope(const ProcessorsScope&) = delete;
  ProcessorsScope& operator=(const ProcessorsScope&) = delete;

 private:
  cpu_set_t before_;
};

int AllowedProcessors() {
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof(allowed), &allowed);
  return CPU_COUNT(&allowed);
}

struct Tasks {
  int all = 0;
  int running = 0;  // or waiting for a processor, without the thread that looks
};

Tasks Look() {
  Tasks tasks;
  const std::string own = std::to_string(gettid());
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    ++tasks.all;
    std::ifstream file(task.path() / "stat");
    std::string stat;
    std::getline(file, stat);
    // "17 (a name) R ..."; empty of a thread that has ended since.
    const size_t name_end = stat.rfind(") ");
    if (name_end == std::string::npos || task.path().filename() == own) continue;
    if (stat[name_end + 2] == 'R') ++tasks.running;
  }
  return tasks;
}

// What is to be seen while a thread for each of the sessions runs it again and again.
struct Seen {
  int tasks_max = 0;
  double running_mean = 0;
  int wrong = 0;  // results
};

Seen LookAtRuns(const std::vector<Session>& sessions) {
  std::atomic<bool> is_over = false;
  std::atomic<int> wrong = 0;
  std::atomic<int> runs = 0;
  const std::vector<float> x = Numbers(kRows * kWidth, 1);
  const std::vector<float> expected = Product(x, kWidth);
  std::vector<std::jthread> callers;
  for (const Session& session : sessions) {
    callers.emplace_back([&] {
      std::vector<float> y(expected.size());
      for (; !is_over; ++runs) {
        if (const Error error = RunOn(session.get(), x, &y); error != nullptr) ++wrong;
      }
      if (y != expected) ++wrong;
    });
  }
  const int first_runs = static_cast<int>(sessions.size());
  while (runs < first_runs) std::this_thread::yield();
  Seen seen;
  int looks = 0;
  int running = 0;
  for (; runs < first_runs + kRuns; ++looks) {
    const Tasks tasks = Look();
    seen.tasks_max = std::max(seen.tasks_max, tasks.all);
    running += tasks.running;
    // Whoever looks takes a processor from those that run, which would wait for it.
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  is_over = true;
  callers.clear();
  seen.wrong = wrong;
  seen.running_mean = static_cast<double>(running) / std::max(looks, 1);
  return seen;
}

// Sessions, and the processors and the threads of each; 0: all.
class SharedThreadsTest : public testing::TestWithParam<std::tuple<int, int, int>> {};

TEST_P(SharedThreadsTest, SessionsComputeOnNoMoreThreadsThanProcessors) {
  const auto [count, processors, threads] = GetParam();
  const ProcessorsScope scope(processors > 0 ? processors : AllowedProcessors());
  const int cores = AllowedProcessors();
  const int before = Look().all;
  plait_session_options options = PLAIT_SESSION_OPTIONS_INIT;
  options.threads = threads;
  const std::string model = ProductModel(kWidth, kRows);
  std::vector<Session> sessions;
  for (int i = 0; i < count; ++i) sessions.push_back(Created(model, options));
  ASSERT_EQ(std::count(sessions.begin(), sessions.end(), nullptr), 0);

  const Seen seen = LookAtRuns(sessions);
  EXPECT_EQ(seen.wrong, 0);
  // Whoever runs a session is one of the team.
  EXPECT_LE(seen.tasks_max, before + cores - 1 + count);
  // In a part of the looks there is one more: whoever has run and whoever is served next are both
  // seen for a moment, and a member of the team spins for 50 us after its work. Sessions that do
  // not share are seen with one thread more in every look.
  EXPECT_GT(seen.running_mean, 0.5);
  EXPECT_LT(seen.running_mean, cores + 0.6);
}

INSTANTIATE_TEST_SUITE_P(Runtime, SharedThreadsTest,
                         testing::Combine(testing::Values(2, 4), testing::Values(0, 1),
                                          testing::Values(0, 1)));

}  // namespace
}  // namespace plait
