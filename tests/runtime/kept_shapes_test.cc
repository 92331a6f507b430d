#include "runtime/kept_shapes.h"

#include <gtest/gtest.h>

namespace plait {
namespace {

TEST(KeptShapesTest, EqualShapesHaveOnePlace) {
  KeptShapes kept;
  const int64_t* const first = kept.Keep({2, 8}).data();
  EXPECT_NE(kept.Keep({8, 2}).data(), first);
  EXPECT_EQ(kept.Keep({2, 8}).data(), first);
  EXPECT_EQ(kept.size(), 2u);
}

// A server may see any number of lengths.
TEST(KeptShapesTest, IsBounded) {
  KeptShapes kept;
  for (int64_t length = 1; length <= 10'000; ++length) kept.Keep({1, length});
  EXPECT_EQ(kept.size(), kKeptShapesMax);
}

TEST(KeptShapesTest, AShapeStaysUntilSoManyOthersWereAskedFor) {
  KeptShapes kept;
  const Shape& shape = kept.Keep({7, 7, 7});
  const int64_t* const place = shape.data();
  for (int round = 0; round < 3; ++round) {
    for (size_t other = 1; other < kKeptShapesMax; ++other) {
      kept.Keep({round, static_cast<int64_t>(other)});
    }
    EXPECT_EQ(shape, Shape({7, 7, 7}));
    EXPECT_EQ(kept.Keep({7, 7, 7}).data(), place) << round;
  }
}

}  // namespace
}  // namespace plait
