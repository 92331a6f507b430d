#include "gpu_worker/process/task_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/wire/weight_table.h"
#include "tests/gpu_worker/process/map_bytes.h"

namespace plait {
namespace {

using testing::HasSubstr;
using wire::WeightPlace;

using CreatedWeights = absl::StatusOr<std::shared_ptr<const TaskWeights>>;

// The weights of a model with this file and a table with these entries.
CreatedWeights Create(const std::string& file, const wire::WeightEntries& entries,
                      const std::string& stored = "") {
  return TaskWeights::Create(MapBytes(file), MapBytes(wire::WeightTableLines(entries) + stored));
}

const TensorType kFloats = {DataType::kFloat32, {300}};

class TaskWeightsTest : public testing::Test {
 protected:
  const std::string bytes_ = FloatBytes(300);
  const Digest digest_ = DigestOf(bytes_);
};

TEST_F(TaskWeightsTest, ServesWhatLiesInTheModelAndInTheTable) {
  const std::string halves(600, '\x3c');
  // At every alignment.
  for (int64_t offset = 0; offset < 5; ++offset) {
    const std::string gap(static_cast<size_t>(offset), '?');
    const CreatedWeights weights = Create(gap + bytes_,
                                          {{digest_, {WeightPlace::kModel, offset}},
                                           {DigestOf(halves), {WeightPlace::kTable, offset}}},
                                          gap + halves);
    ASSERT_TRUE(weights.ok()) << weights.status();
    const absl::StatusOr<Tensor> floats = (*weights)->Get(digest_, kFloats);
    ASSERT_TRUE(floats.ok()) << floats.status();
    EXPECT_EQ(floats->at<float>(299), 149.5f);
    // The element type is the candidate's to choose, as long as the size is right.
    for (const DataType dtype : {DataType::kFloat16, DataType::kBfloat16, DataType::kInt16}) {
      const absl::StatusOr<Tensor> value = (*weights)->Get(DigestOf(halves), {dtype, {300}});
      ASSERT_TRUE(value.ok()) << value.status();
      EXPECT_EQ(value->bytes(), halves);
    }
  }
}

// Libraries that pack weights read whole elements.
TEST_F(TaskWeightsTest, ServesElementsAtAddressesThatSuitThem) {
  const CreatedWeights weights = Create("?" + bytes_, {{digest_, {WeightPlace::kModel, 1}}});
  ASSERT_TRUE(weights.ok()) << weights.status();
  const absl::StatusOr<Tensor> value = (*weights)->Get(digest_, kFloats);
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(value->bytes().data()) % sizeof(float), 0u);
}

TEST_F(TaskWeightsTest, KeepsTheBytesOfATensorThatOutlivesIt) {
  absl::StatusOr<Tensor> value;
  {
    const CreatedWeights weights = Create(bytes_, {{digest_, {WeightPlace::kModel, 0}}});
    ASSERT_TRUE(weights.ok()) << weights.status();
    value = (*weights)->Get(digest_, kFloats);
  }
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(value->bytes(), bytes_);
}

TEST_F(TaskWeightsTest, RefusesATableThatPointsAtOtherBytes) {
  const std::string file = bytes_ + bytes_;
  for (const WeightPlace place : {WeightPlace::kModel, WeightPlace::kTable}) {
    const CreatedWeights weights = Create(file, {{digest_, {place, 4}}}, file);
    EXPECT_TRUE(absl::IsInvalidArgument(weights.status())) << weights.status();
    EXPECT_THAT(std::string(weights.status().message()), HasSubstr(digest_.ToString()));
  }
}

TEST_F(TaskWeightsTest, RefusesATableThatPointsBehindTheModel) {
  EXPECT_TRUE(
      absl::IsInvalidArgument(Create(bytes_, {{digest_, {WeightPlace::kModel, 1}}}).status()));
  // The bytes are right, but in the other blob.
  EXPECT_TRUE(
      absl::IsInvalidArgument(Create("", {{digest_, {WeightPlace::kModel, 0}}}, bytes_).status()));
}

TEST_F(TaskWeightsTest, MakesUpTheSameValuesForTheSameWeight) {
  const Digest other = DigestOf("another");
  const CreatedWeights weights = Create("", {{digest_, {}}, {other, {}}});
  ASSERT_TRUE(weights.ok()) << weights.status();
  const absl::StatusOr<Tensor> value = (*weights)->Get(digest_, kFloats);
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(*value, *(*weights)->Get(digest_, kFloats));
  EXPECT_NE(value->at<float>(0), value->at<float>(1));
  EXPECT_FALSE(*(*weights)->Get(other, {DataType::kUint8, {7}}) ==
               *(*weights)->Get(digest_, {DataType::kUint8, {1200}}));
}

TEST_F(TaskWeightsTest, HasNoWeightsButThoseOfItsTable) {
  EXPECT_TRUE(absl::IsNotFound(TaskWeights().Get(digest_, kFloats).status()));
  const CreatedWeights weights = Create(bytes_, {{digest_, {WeightPlace::kModel, 0}}});
  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_TRUE(absl::IsNotFound((*weights)->Get(DigestOf("another"), kFloats).status()));
}

TEST_F(TaskWeightsTest, GivesAWeightToNoTypeOfAnotherSize) {
  const CreatedWeights weights = Create(
      bytes_, {{digest_, {WeightPlace::kModel, 0}}, {DigestOf(""), {WeightPlace::kModel, 0}}});
  ASSERT_TRUE(weights.ok()) << weights.status();
  for (const TensorType& type :
       {TensorType{DataType::kFloat32, {299}}, TensorType{DataType::kFloat64, {300}},
        TensorType{DataType::kString, {300}}}) {
    EXPECT_TRUE(absl::IsNotFound((*weights)->Get(digest_, type).status())) << type.ToString();
  }
  // Strings have no size, and so any number of them fills nothing.
  EXPECT_TRUE((*weights)->Get(DigestOf(""), {DataType::kString, {300}}).ok());
}

}  // namespace
}  // namespace plait
