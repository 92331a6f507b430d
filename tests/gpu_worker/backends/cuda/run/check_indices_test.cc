#include "gpu_worker/backends/cuda/run/check_indices.h"

#include "gtest/gtest.h"
#include "tests/gpu_worker/backends/cuda/recording_runtime.h"

namespace plait::cuda {
namespace {

// A gather of four indices, with its error word, on the recording runtime.
class CheckIndicesTest : public testing::Test {
 protected:
  void SetUp() override {
    stream_ = runtime_.CreateStream(0).value();
    staging_ = Staging::Make(&runtime_, 256).value();
    void* indices = runtime_.Allocate(32).value();
    operands_.inputs = {nullptr, indices};
    operands_.error_word = runtime_.Allocate(8).value();
    const int64_t values[] = {0, -7, 12, 3};
    ASSERT_TRUE(staging_->Upload(indices, values, 32, stream_).ok());
    Write(0);
  }

  void Write(int64_t word) {
    ASSERT_TRUE(staging_->Upload(operands_.error_word, &word, 8, stream_).ok());
  }

  Status Check() { return CheckIndices(&runtime_, staging_.get(), problem_, operands_, stream_); }

  RecordingRuntime runtime_;
  Stream stream_ = nullptr;
  std::unique_ptr<Staging> staging_;
  Operands operands_;
  const MovementProblem problem_ = {
      .kind = MovementProblem::Kind::kGather, .inputs = {{7, 2}, {2, 2}}, .axis = 0};
};

TEST_F(CheckIndicesTest, SaysNothingWhereNothingIsWrong) { EXPECT_TRUE(Check().ok()); }

TEST_F(CheckIndicesTest, NamesTheIndexAndClearsTheWord) {
  Write(3);
  const Status status = Check();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(status.error().message, "gather: index 12 at place 2 is not in -7..6");
  EXPECT_TRUE(Check().ok()) << "the word is for the next launch";
}

TEST_F(CheckIndicesTest, AWordOutOfRangeIsNoPlace) {
  for (const int64_t word : {int64_t{5}, int64_t{-1}, INT64_MIN, INT64_MAX}) {
    Write(word);
    const Status status = Check();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kInternal);
  }
}

TEST_F(CheckIndicesTest, OtherProblemsHaveNone) {
  Write(3);
  EXPECT_TRUE(CheckIndices(&runtime_, staging_.get(), PoolProblem(), operands_, stream_).ok());
  operands_.error_word = nullptr;
  EXPECT_TRUE(Check().ok());
}

}  // namespace
}  // namespace plait::cuda
