#include "base/status_macros.h"

#include "gtest/gtest.h"

namespace plait {
namespace {

absl::StatusOr<int> Half(int value) {
  if (value % 2 != 0) return absl::InvalidArgumentError("odd");
  return value / 2;
}

absl::StatusOr<int> Quarter(int value) {
  PLAIT_ASSIGN_OR_RETURN(const int half, Half(value));
  PLAIT_ASSIGN_OR_RETURN(const int quarter, Half(half));
  return quarter;
}

absl::Status CheckEven(int value, bool* passed) {
  PLAIT_RETURN_IF_ERROR(Half(value).status());
  *passed = true;
  return absl::OkStatus();
}

TEST(StatusMacrosTest, AssignsTheValueOrReturnsTheError) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(6).status(), absl::InvalidArgumentError("odd"));
}

TEST(StatusMacrosTest, ReturnsBeforeTheRestOfTheFunction) {
  bool passed = false;
  EXPECT_FALSE(CheckEven(1, &passed).ok());
  EXPECT_FALSE(passed);
  EXPECT_TRUE(CheckEven(2, &passed).ok());
  EXPECT_TRUE(passed);
}

TEST(StatusMacrosTest, AnnotateKeepsTheCode) {
  EXPECT_EQ(Annotate(absl::NotFoundError("gone"), "conv3"), absl::NotFoundError("conv3: gone"));
  EXPECT_TRUE(Annotate(absl::OkStatus(), "conv3").ok());
}

TEST(StatusMacrosTest, AnnotateKeepsPayloads) {
  absl::Status status = absl::NotFoundError("gone");
  status.SetPayload("first", absl::Cord("1"));
  status.SetPayload("second", absl::Cord("2"));
  const absl::Status annotated = Annotate(status, "conv3");
  EXPECT_EQ(annotated.GetPayload("first"), absl::Cord("1"));
  EXPECT_EQ(annotated.GetPayload("second"), absl::Cord("2"));
}

TEST(StatusMacrosDeathTest, CheckNamesTheCondition) {
  const int legs = 3;
  EXPECT_DEATH(PLAIT_CHECK(legs == 4), "legs == 4");
}

}  // namespace
}  // namespace plait
