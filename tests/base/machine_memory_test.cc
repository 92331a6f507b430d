#include "base/machine_memory.h"

#include <filesystem>
#include <fstream>
#include <limits>

#include <gtest/gtest.h>

namespace plait {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

class GroupMemoryTest : public testing::Test {
 protected:
  GroupMemoryTest() : root_(testing::TempDir() + "/control_groups") {
    std::filesystem::remove_all(root_);
  }
  ~GroupMemoryTest() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }

  const std::string root_;
};

TEST_F(GroupMemoryTest, TakesTheLeastLimitOnTheWayUp) {
  Write("/memory.max", "max");
  Write("/user/memory.max", "3000");
  Write("/user/build/memory.max", "max");
  Write("/user/build/test/memory.max", "5000");
  EXPECT_EQ(GroupMemoryBytes("0::/user/build/test\n", root_), 3000);
  EXPECT_EQ(GroupMemoryBytes("0::/\n", root_), kNoLimit);
}

TEST_F(GroupMemoryTest, ReadsTheFirstVersion) {
  Write("/memory/memory.limit_in_bytes", "9223372036854771712");
  Write("/memory/build/memory.limit_in_bytes", "4000");
  Write("/cpu/build/memory.limit_in_bytes", "1000");
  EXPECT_EQ(GroupMemoryBytes("5:cpu:/build\n4:hugetlb,memory:/build\n", root_), 4000);
}

// Within a container its own group is the root, whatever its name is outside.
TEST_F(GroupMemoryTest, AGroupThatIsNotSeenHasTheLimitOfTheRoot) {
  Write("/memory/memory.limit_in_bytes", "4000");
  EXPECT_EQ(GroupMemoryBytes("4:memory:/docker/0123abcd\n", root_), 4000);
}

TEST_F(GroupMemoryTest, WhatIsNoGroupHasNoLimit) {
  for (const char* const groups : {"", "\n", "memory", "0::", "0::build\n", "x:memory:\n"}) {
    EXPECT_EQ(GroupMemoryBytes(groups, root_), kNoLimit) << groups;
  }
}

TEST(MachineMemoryTest, IsNoMoreThanIsAllowed) {
  const int64_t all = MachineMemoryBytes();
  EXPECT_GT(all, 0);
  EXPECT_EQ(MachineMemoryBytesUpTo(0), all);
  EXPECT_EQ(MachineMemoryBytesUpTo(1000), 1000);
  EXPECT_EQ(MachineMemoryBytesUpTo(kNoLimit), all);
}

}  // namespace
}  // namespace plait
