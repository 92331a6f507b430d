#include "base/machine_cores.h"

#include <cmath>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sched.h>

namespace plait {
namespace {

class GroupCoresTest : public testing::Test {
 protected:
  GroupCoresTest() : root_(testing::TempDir() + "/control_groups_of_cores") {
    std::filesystem::remove_all(root_);
  }
  ~GroupCoresTest() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }

  const std::string root_;
};

TEST_F(GroupCoresTest, TakesTheLeastQuotaOnTheWayUp) {
  Write("/user/cpu.max", "400000 100000");
  Write("/user/build/cpu.max", "max 100000");
  Write("/user/build/test/cpu.max", "50000 20000");
  EXPECT_DOUBLE_EQ(GroupCoreQuota("0::/user/build/test\n", root_), 2.5);
  EXPECT_DOUBLE_EQ(GroupCoreQuota("0::/user/build\n", root_), 4);
  EXPECT_TRUE(std::isinf(GroupCoreQuota("0::/\n", root_)));
}

TEST_F(GroupCoresTest, ReadsTheFirstVersion) {
  Write("/cpu/cpu.cfs_quota_us", "-1");
  Write("/cpu/cpu.cfs_period_us", "100000");
  Write("/cpu/build/cpu.cfs_quota_us", "150000");
  Write("/cpu/build/cpu.cfs_period_us", "100000");
  EXPECT_DOUBLE_EQ(GroupCoreQuota("5:cpu,cpuacct:/build\n4:memory:/build\n", root_), 1.5);
  EXPECT_TRUE(std::isinf(GroupCoreQuota("5:cpu,cpuacct:/\n", root_)));
}

// As `docker run --cpus 2` shows itself within the container, in either version.
TEST_F(GroupCoresTest, AContainersOwnGroupIsTheRoot) {
  Write("/cpu.max", "200000 100000");
  EXPECT_DOUBLE_EQ(GroupCoreQuota("0::/docker/0123abcd\n", root_), 2);
  Write("/cpu/cpu.cfs_quota_us", "300000");
  Write("/cpu/cpu.cfs_period_us", "100000");
  EXPECT_DOUBLE_EQ(GroupCoreQuota("5:cpu:/docker/0123abcd\n", root_), 3);
}

TEST_F(GroupCoresTest, WhatMakesNoSenseIsNoQuota) {
  for (const char* const text : {"", "max", "100000", "0 100000", "100000 0", "-5 7", "x y"}) {
    Write("/cpu.max", text);
    EXPECT_TRUE(std::isinf(GroupCoreQuota("0::/\n", root_))) << text;
  }
  EXPECT_TRUE(std::isinf(GroupCoreQuota("", root_)));
}

// A container with 2 processors of 64 runs 2 threads.
TEST(CoreLimitsTest, ThreadsAreAsManyAsRunAllTheTime) {
  EXPECT_EQ((CoreLimits{64, 2}).threads(), 2);
  EXPECT_EQ((CoreLimits{64, 1.9999}).threads(), 2);
  EXPECT_EQ((CoreLimits{64, 2.7}).threads(), 2);
  EXPECT_EQ((CoreLimits{64, 0.25}).threads(), 1);
  EXPECT_EQ((CoreLimits{2, 8}).threads(), 2);
  EXPECT_EQ((CoreLimits{64}).threads(), 64);
}

// A set of cores of a control group is part of what the system lets threads choose.
TEST(CoreLimitsTest, FollowsTheCoresThatThisThreadMayUse) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core) {
    if (CPU_ISSET(core, &before)) CPU_SET(core, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(MachineCoreLimits().allowed, 1);
  EXPECT_EQ(MachineCores(), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
  EXPECT_EQ(MachineCoreLimits().allowed, CPU_COUNT(&before));
}

}  // namespace
}  // namespace plait
