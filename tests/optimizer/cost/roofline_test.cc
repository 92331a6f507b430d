#include "optimizer/cost/roofline.h"

#include <gtest/gtest.h>

namespace plait {
namespace {

TEST(RooflineTest, IsTheSlowerOfComputingAndMoving) {
  const Roofline roofline{.flops_per_us = 100, .bytes_per_us = 10};
  EXPECT_DOUBLE_EQ(roofline.LatencyUs({1000, 10}), 10);
  EXPECT_DOUBLE_EQ(roofline.LatencyUs({1000, 1000}), 100);
  EXPECT_DOUBLE_EQ(roofline.ComputeUs({1000, 1000}), 10);
  EXPECT_DOUBLE_EQ(Roofline{}.LatencyUs({1000, 1000}), 0);
}

}  // namespace
}  // namespace plait
