#include "server/search_child/apply_limits.h"

#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "server/search_child/protocol/descriptors.h"

namespace plait {
namespace {

// As the daemon writes them; this process is the parent of a death test's.
std::string MemoryLimit() { return absl::StrCat(256 << 20, ",0,0,", getpid()); }

void AllocateStrings() {
  std::vector<std::string> strings;
  while (true) strings.emplace_back(1 << 20, 'x');
}

// Not for GoogleTest to catch what it throws.
void StartThreads() noexcept {
  while (true) std::thread(pause).detach();
}

// As a library does for memory of its own.
void MapMemory() {
  while (mmap(nullptr, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) {
  }
  std::abort();
}

class ApplyLimitsTest : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers have a memory of their own";
#endif
  }

  // Runs in a process of its own.
  static void Limited(const std::string& limits, void (*run)()) {
    if (ApplyLimits(limits)) run();
    _exit(1);
  }
};

TEST_F(ApplyLimitsTest, AllocatingTooMuchEndsWithACodeOfItsOwn) {
  const std::string limits = MemoryLimit();
  EXPECT_EXIT(Limited(limits, AllocateStrings), testing::ExitedWithCode(kMemoryLimitExit),
              "the memory limit is reached");
}

// Neither asks the new handler.
TEST_F(ApplyLimitsTest, AnAbortWithoutRoomEndsWithIt) {
  const std::string limits = MemoryLimit();
  EXPECT_EXIT(Limited(limits, StartThreads), testing::ExitedWithCode(kMemoryLimitExit),
              "the memory limit is reached");
  EXPECT_EXIT(Limited(limits, MapMemory), testing::ExitedWithCode(kMemoryLimitExit),
              "the memory limit is reached");
}

TEST_F(ApplyLimitsTest, AnyOtherAbortIsACrash) {
  const std::string limits = MemoryLimit();
  EXPECT_EXIT(Limited(limits, std::abort), testing::KilledBySignal(SIGABRT), "");
}

}  // namespace
}  // namespace plait
