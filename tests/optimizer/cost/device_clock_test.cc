#include "optimizer/cost/device_clock.h"

#include <gtest/gtest.h>

namespace plait {
namespace {

TEST(DeviceClockTest, AddsWhatWasSeenWhileMoreWasTimed) {
  DeviceClock clock;
  AddClock({}, clock);
  EXPECT_EQ(clock, DeviceClock());
  AddClock({1755, 1980, 3, 0, {"power", "heat"}}, clock);
  AddClock({}, clock);
  AddClock({1800, 1995, 2, 1, {"hardware", "power"}}, clock);
  EXPECT_EQ(clock, (DeviceClock{1755, 1995, 5, 1, {"hardware", "heat", "power"}}));
}

// A worker says it, batch for batch.
TEST(DeviceClockTest, TheSumIsAClock) {
  DeviceClock clock = {1, 2, 1'000'000'000, 1'000'000'000, {}};
  for (int i = 0; i < 16; ++i) clock.limits.push_back(std::string(64, static_cast<char>('a' + i)));
  EXPECT_TRUE(IsClock(clock));
  DeviceClock sum = clock;
  sum.limits = {"z"};
  AddClock(clock, sum);
  EXPECT_TRUE(IsClock(sum)) << sum.spans << " " << sum.limits.size();
}

TEST(DeviceClockTest, KnowsWhatIsNone) {
  EXPECT_TRUE(IsClock({1980, 1980, 0, 0, {}}));
  const DeviceClock none[] = {{},
                              {-1, 1980, 1, 0, {}},
                              {1980, 1755, 1, 0, {}},
                              {1980, 1980, 1, 2, {}},
                              {1980, 1980, 1, -1, {}},
                              {1980, 1980, 1'000'000'001, 0, {}},
                              {1980, 1980, 1, 0, {""}},
                              {1980, 1980, 1, 0, {"a;b"}},
                              {1980, 1980, 1, 0, {"a\nb"}},
                              {1980, 1980, 1, 0, {std::string(65, 'a')}},
                              {1980, 1980, 1, 0, std::vector<std::string>(17, "a")}};
  for (const DeviceClock& clock : none) EXPECT_FALSE(IsClock(clock)) << &clock - none;
}

}  // namespace
}  // namespace plait
