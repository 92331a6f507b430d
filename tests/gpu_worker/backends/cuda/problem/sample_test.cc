#include "gpu_worker/backends/cuda/problem/sample.h"

#include <algorithm>
#include <set>

#include "gpu_worker/backends/cuda/problem/problem_shape.h"
#include "gtest/gtest.h"

namespace plait::cuda {
namespace {

// The indices of each dimension that the offsets meet.
std::vector<std::set<int64_t>> Met(const std::vector<int64_t>& shape,
                                   const std::vector<int64_t>& offsets) {
  std::vector<std::set<int64_t>> met(shape.size());
  for (int64_t offset : offsets) {
    EXPECT_GE(offset, 0);
    for (size_t d = shape.size(); d-- > 0; offset /= shape[d]) met[d].insert(offset % shape[d]);
    EXPECT_EQ(offset, 0);
  }
  return met;
}

TEST(SampleTest, SmallTensorsAreTakenInWhole) {
  EXPECT_EQ(SampleOffsets({2, 3}, 6, 1), (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(SampleOffsets({}, 1, 1), std::vector<int64_t>{0});
}

TEST(SampleTest, EveryEdgeOfEveryDimensionIsMet) {
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{1, 300, 57, 129},
                                            {5, 1000, 1000},
                                            {1 << 20, 33},
                                            {7'000'000},
                                            {2, 3, 2, 3, 2, 33, 2, 40}}) {
    const std::vector<int64_t> offsets = SampleOffsets(shape, 64, 5);
    EXPECT_EQ(offsets[0], 0);
    EXPECT_EQ(offsets[1], ElementCount(shape) - 1);
    EXPECT_LT(offsets.size(), 1000u);
    const auto met = Met(shape, offsets);
    for (size_t d = 0; d < shape.size(); ++d) {
      for (const int64_t edge : EdgesOf(shape[d])) EXPECT_TRUE(met[d].contains(edge)) << edge;
    }
  }
}

TEST(SampleTest, EveryIndexOfADimensionIsMetByAsManySamples) {
  const std::vector<int64_t> shape = {3, 56, 56, 512};
  const auto met = Met(shape, SampleOffsets(shape, 512, 9));
  for (size_t d = 0; d < shape.size(); ++d) {
    EXPECT_EQ(static_cast<int64_t>(met[d].size()), shape[d]) << d;
  }
  // Pairs of indices, too, are not the same few again and again.
  const auto offsets = SampleOffsets({512, 512}, 8192, 9);
  EXPECT_GT(std::set<int64_t>(offsets.begin(), offsets.end()).size(), 7500u);
}

TEST(SampleTest, EdgesAreWhereTilesAreCutOff) {
  EXPECT_EQ(EdgesOf(1), std::vector<int64_t>{0});
  EXPECT_EQ(EdgesOf(16), (std::vector<int64_t>{0, 15}));
  EXPECT_EQ(EdgesOf(40), (std::vector<int64_t>{0, 15, 16, 31, 32, 39}));
}

TEST(SampleTest, ShapesLieAsInMemory) {
  const ConvProblem conv{.n = 2, .c = 3, .h = 5, .w = 7, .k = 4};
  using Shapes = std::vector<std::vector<int64_t>>;
  EXPECT_EQ(OutputsInMemory(conv, MemoryLayout::kNchw), (Shapes{{2, 4, 5, 7}}));
  EXPECT_EQ(OutputsInMemory(conv, MemoryLayout::kNhwc), (Shapes{{2, 5, 7, 4}}));
  const MovementProblem split{.kind = MovementProblem::Kind::kSlice,
                              .inputs = {{2, 6, 4, 3}},
                              .axis = 1,
                              .starts = {0, 2},
                              .sizes = {2, 4}};
  EXPECT_EQ(OutputsInMemory(split, MemoryLayout::kNhwc), (Shapes{{2, 4, 3, 2}, {2, 4, 3, 4}}));
}

}  // namespace
}  // namespace plait::cuda
