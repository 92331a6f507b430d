#include <utility>

#include <gtest/gtest.h>

#include "tests/gpu_worker/backends/cuda/run/timing_fixture.h"

// Images that are parts of others: generated kernels read and write them where they lie, and
// nothing beside.

namespace plait::cuda {
namespace {

// 24 channels from pixel to pixel, or 27, to which no vector of several elements fits.
constexpr int64_t kPitches[] = {24, 27};

class PitchedCandidatesTest : public TimingTest<DriverRuntime> {
 protected:
  // How many candidates there are, each of which is right by itself.
  int CheckAll(const Problem& problem, const OperandPitches& pitches) {
    StepProblem step{.kind = StepProblem::Kind::kLaunch};
    step.problem.problem = problem;
    step.problem.layout = MemoryLayout::kNhwc;
    step.shape = ShapeOf(problem).value();
    step.places.pitches = pitches;
    int right = 0;
    for (auto& candidate : Generated(step)) {
      std::vector<std::unique_ptr<Candidate>> alone;
      alone.push_back(std::move(candidate));
      const Result<CandidateChoice> choice = Choose(alone, step);
      EXPECT_TRUE(choice.ok()) << alone[0]->name() << ": " << choice.error().message;
      right += choice.ok() ? 1 : 0;
    }
    return right;
  }

  // With the input, the output, or both in others.
  void CheckOneInOneOut(const Problem& problem, int64_t channels, int64_t output_channels) {
    for (const int64_t pitch : kPitches) {
      const PixelPitch in{channels, pitch}, out{output_channels, pitch};
      EXPECT_GE(CheckAll(problem, {.inputs = {in}}), 1) << pitch;
      EXPECT_GE(CheckAll(problem, {.outputs = {out}}), 1) << pitch;
      EXPECT_GE(CheckAll(problem, {.inputs = {in}, .outputs = {out}}), 1) << pitch;
    }
  }
};

constexpr ConvProblem kDepthwise = {.n = 2,
                                    .c = 8,
                                    .h = 5,
                                    .w = 6,
                                    .k = 8,
                                    .r = 3,
                                    .s = 3,
                                    .pad = {1, 1, 1, 1},
                                    .groups = 8,
                                    .bias = true,
                                    .activation = Activation::kRelu};

TEST_F(PitchedCandidatesTest, Depthwise) {
  CheckOneInOneOut(kDepthwise, 8, 8);
  ConvProblem with_residual = kDepthwise;
  with_residual.residual = true;
  for (const int64_t pitch : kPitches) {
    EXPECT_GE(CheckAll(with_residual, {.residual = {8, pitch}}), 1);
    EXPECT_GE(CheckAll(with_residual, {.outputs = {{8, pitch}}}), 1);
  }
}

TEST_F(PitchedCandidatesTest, Separable) {
  const ConvProblem pointwise = {.n = 2, .c = 8, .h = 5, .w = 6, .k = 12, .residual = true};
  const SeparableConvProblem problem{kDepthwise, pointwise};
  CheckOneInOneOut(problem, 8, 12);
  EXPECT_GE(CheckAll(problem, {.residual = {12, 27}}), 1);
}

TEST_F(PitchedCandidatesTest, Pools) {
  PoolProblem pool = {.mode = PoolProblem::Mode::kAverage,
                      .n = 2,
                      .c = 8,
                      .h = 6,
                      .w = 6,
                      .r = 3,
                      .s = 3,
                      .stride = {2, 2},
                      .pad = {1, 1, 1, 1},
                      .output_h = 3,
                      .output_w = 3};
  CheckOneInOneOut(pool, 8, 8);
  pool = {.mode = PoolProblem::Mode::kMax, .n = 2, .c = 8, .h = 6, .w = 6, .r = 6, .s = 6};
  CheckOneInOneOut(pool, 8, 8);
}

TEST_F(PitchedCandidatesTest, Resizes) {
  const ResizeProblem resize{.n = 2,
                             .c = 8,
                             .rows = {3, 2, {0, 1, 1, 2}, {0.5, 0.5, 0.25, 0.75}},
                             .columns = {2, 1, {0, 0, 1, 1}, {1, 1, 1, 1}}};
  CheckOneInOneOut(resize, 8, 8);
}

TEST_F(PitchedCandidatesTest, ScaleShift) {
  CheckOneInOneOut(ScaleShiftProblem{.n = 2, .c = 8, .spatial = 15}, 8, 8);
}

TEST_F(PitchedCandidatesTest, Elementwise) {
  for (const int64_t channels : {8, 1}) {
    const std::vector<int64_t> image = {2, channels, 3, 5};
    CheckOneInOneOut(ElementwiseProblem{"relu(x0)", image, {image}}, channels, channels);
    // Beside a dense one, and ones that repeat.
    const ElementwiseProblem sum{
        "add(mul(x0,x1),add(x2,x3))", image, {image, {1, channels, 1, 1}, image, {2, 1, 3, 5}}};
    for (const int64_t pitch : kPitches) {
      EXPECT_GE(CheckAll(sum, {.inputs = {{channels, pitch}}}), 1);
      EXPECT_GE(
          CheckAll(sum, {.inputs = {{}, {}, {channels, pitch}}, .outputs = {{channels, pitch}}}),
          1);
    }
  }
}

TEST_F(PitchedCandidatesTest, Movements) {
  using Kind = MovementProblem::Kind;
  const std::vector<int64_t> image = {2, 8, 3, 5}, narrow = {2, 4, 3, 5};
  for (const int64_t pitch : kPitches) {
    EXPECT_EQ(CheckAll(MovementProblem{.kind = Kind::kConcat, .inputs = {image, narrow}, .axis = 1},
                       {.inputs = {{8, pitch}}, .outputs = {{12, pitch}}}),
              1);
    EXPECT_EQ(CheckAll(MovementProblem{.kind = Kind::kCopy, .inputs = {image, narrow}},
                       {.inputs = {{}, {4, pitch}}, .outputs = {{8, pitch}, {4, pitch}}}),
              1);
    EXPECT_EQ(CheckAll(MovementProblem{.kind = Kind::kSlice,
                                       .inputs = {image},
                                       .axis = 1,
                                       .starts = {0, 3},
                                       .sizes = {3, 5}},
                       {.inputs = {{8, pitch}}, .outputs = {{}, {5, pitch}}}),
              1);
    // Along the rows of an image.
    EXPECT_EQ(
        CheckAll(
            MovementProblem{
                .kind = Kind::kSlice, .inputs = {image}, .axis = 2, .starts = {1}, .sizes = {2}},
            {.inputs = {{8, pitch}}, .outputs = {{8, pitch}}}),
        1);
    const MovementProblem pad{
        .kind = Kind::kPad, .inputs = {image}, .starts = {0, 0, 1, -1}, .sizes = {0, 0, 2, 0}};
    CheckOneInOneOut(pad, 8, 8);
  }
}

// A transpose knows no pixels.
TEST_F(PitchedCandidatesTest, WhatIsNoImageHasNone) {
  EXPECT_EQ(CheckAll(MovementProblem{.kind = MovementProblem::Kind::kTranspose,
                                     .inputs = {{2, 8, 3, 5}},
                                     .permutation = {0, 2, 3, 1}},
                     {.inputs = {{8, 24}}}),
            0);
  EXPECT_EQ(CheckAll(MovementProblem{.kind = MovementProblem::Kind::kConcat,
                                     .inputs = {{2, 8, 3, 5}, {2, 8, 3, 5}},
                                     .axis = 2},
                     {.inputs = {{8, 24}}}),
            0);
}

}  // namespace
}  // namespace plait::cuda
