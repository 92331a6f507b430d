#include "optimizer/cost/layer_error.h"

#include <limits>

#include <gtest/gtest.h>

namespace plait {
namespace {

TEST(LayerErrorTest, AdmitsWhatIsAsGoodAsASerialSumOrVerySmall) {
  EXPECT_TRUE(IsAdmitted({}));
  EXPECT_TRUE(IsAdmitted({.error = 1.4e-6, .serial_error = 1e-8}));
  EXPECT_FALSE(IsAdmitted({.error = 1.6e-6, .serial_error = 1e-6}));
  EXPECT_TRUE(IsAdmitted({.error = 2.9e-6, .serial_error = 2e-6}));
}

TEST(LayerErrorTest, AsksTheSameOfHardInputs) {
  EXPECT_FALSE(IsAdmitted({.hard_error = 1.6e-6, .serial_hard_error = 1e-6}));
  EXPECT_TRUE(IsAdmitted({.hard_error = 2.9e-6, .serial_hard_error = 2e-6}));
}

TEST(LayerErrorTest, AdmitsNothingThatCannotBeTold) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(IsAdmitted({.error = kNan, .serial_error = 1}));
  EXPECT_FALSE(IsAdmitted({.hard_error = kNan}));
  EXPECT_TRUE(IsAdmitted({.error = 1e-6, .serial_error = kNan}));
}

}  // namespace
}  // namespace plait
