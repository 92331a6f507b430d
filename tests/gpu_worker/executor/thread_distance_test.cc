#include "gpu_worker/executor/thread_distance.h"

#include <gtest/gtest.h>

namespace plait {
namespace {

TEST(ThreadDistanceTest, FarIsMuchLongerThanTheShortestSoFar) {
  ThreadDistance distance;
  EXPECT_FALSE(distance.IsFar(0.195));
  EXPECT_FALSE(distance.IsFar(0.045));
  EXPECT_FALSE(distance.IsFar(0.1));
  EXPECT_TRUE(distance.IsFar(0.195));
}

TEST(ThreadDistanceTest, AnUnknownTimeSaysNothing) {
  ThreadDistance distance;
  EXPECT_FALSE(distance.IsFar(0));
  EXPECT_FALSE(distance.IsFar(0.195));
  EXPECT_FALSE(distance.IsFar(0));
}

TEST(ThreadDistanceTest, WhatIsExpectedCountsBeforeTheFirstReading) {
  ThreadDistance distance(0.05);
  EXPECT_TRUE(distance.IsFar(0.195));
  EXPECT_FALSE(distance.IsFar(0.1));
}

TEST(ThreadDistanceTest, WhatIsUsualIsNotFarUntilItWasOtherwise) {
  ThreadDistance distance(0.05);
  distance.TakeAsUsual(0.195);
  EXPECT_FALSE(distance.IsFar(0.195));
  EXPECT_FALSE(distance.IsFar(0.045));
  EXPECT_TRUE(distance.IsFar(0.195));
}

}  // namespace
}  // namespace plait
