#include "gpu_worker/backends/cuda/problem/candidate.h"

#include "gtest/gtest.h"

namespace plait::cuda {
namespace {

constexpr Precision kPrecisions[] = {Precision::kStrict, Precision::kTf32, Precision::kFp16,
                                     Precision::kBf16};

TEST(IsAllowedTest, SomeNotesAreAllowedNowhere) {
  for (const Precision precision : kPrecisions) {
    for (const bool products : {true, false}) {
      EXPECT_FALSE(IsAllowed({"nondeterministic"}, products, precision));
      EXPECT_FALSE(IsAllowed({"tensor_core", "reduced_precision_reduction"}, products, precision));
      EXPECT_TRUE(IsAllowed({"winograd", "runtime_compilation"}, products, precision));
      EXPECT_TRUE(IsAllowed({}, products, precision));
    }
  }
}

TEST(IsAllowedTest, StrictAllowsWhatIsKnownToKeepFp32) {
  for (const char* note : {"tensor_core", "down_convert_inputs"}) {
    EXPECT_FALSE(IsAllowed({note}, true, Precision::kStrict)) << note;
    EXPECT_TRUE(IsAllowed({note}, false, Precision::kStrict)) << note;
    EXPECT_TRUE(IsAllowed({note}, true, Precision::kTf32)) << note;
  }
  for (const bool products : {true, false}) {
    EXPECT_FALSE(IsAllowed({"unknown_numerical_note"}, products, Precision::kStrict));
    EXPECT_TRUE(IsAllowed({"unknown_behavior_note"}, products, Precision::kStrict));
    EXPECT_TRUE(IsAllowed({"unknown_numerical_note"}, products, Precision::kFp16));
  }
}

TEST(CheckAlignmentTest, TakesPowersOfTwoFromAnElementOn) {
  EXPECT_TRUE(CheckAlignment({}, Precision::kStrict).ok());
  EXPECT_TRUE(CheckAlignment({.inputs = 4, .outputs = 4096}, Precision::kStrict).ok());
  EXPECT_TRUE(CheckAlignment({.bias = 2}, Precision::kFp16).ok());
  for (const int64_t bytes : {int64_t{0}, int64_t{1}, int64_t{2}, int64_t{12}, INT64_MIN}) {
    EXPECT_FALSE(CheckAlignment({.weights = bytes}, Precision::kStrict).ok()) << bytes;
  }
}

}  // namespace
}  // namespace plait::cuda
