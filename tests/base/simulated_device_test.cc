#include "base/simulated_device.h"

#include <gtest/gtest.h>

namespace plait {
namespace {

TEST(SimulatedDeviceTest, AFieldOfTheFingerprintSaysIt) {
  EXPECT_TRUE(IsSimulatedFingerprint("cuda;_simulated_sm_90;_sm_90;_simulated"));
  EXPECT_TRUE(IsSimulatedFingerprint("cuda;_simulated;_more"));
  // A name is anybody's word.
  for (const char* other : {"", "simulated", "cuda;_simulated_sm_90;_sm_90", "cuda;simulated",
                            "cuda;_not_simulated", "cuda;_simulated_"}) {
    EXPECT_FALSE(IsSimulatedFingerprint(other)) << other;
  }
}

}  // namespace
}  // namespace plait
