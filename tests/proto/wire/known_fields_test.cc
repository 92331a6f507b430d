#include "proto/wire/known_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plait/v1/optimization.pb.h"
#include "tests/proto/wire/details.h"

namespace plait::wire {
namespace {

void AddUnknownField(google::protobuf::Message* message) {
  message->GetReflection()->MutableUnknownFields(message)->AddVarint(99, 1);
}

TEST(WireKnownFieldsTest, AcceptsARequestOfThisBuild) {
  v1::OptimizeModelRequest request;
  request.mutable_model()->set_size_bytes(1);
  (*request.mutable_options()->mutable_shapes())["x"].add_dims(1);
  EXPECT_TRUE(CheckFieldsKnown("", request).ok());
}

TEST(WireKnownFieldsTest, NamesAnUnknownFieldWhereverItIs) {
  v1::OptimizeModelRequest request;
  AddUnknownField(&request);
  EXPECT_EQ(FieldOf(CheckFieldsKnown("", request)), "99");
  request = {};
  AddUnknownField(request.mutable_model());
  EXPECT_EQ(FieldOf(CheckFieldsKnown("", request)), "model.99");
  request = {};
  AddUnknownField(&(*request.mutable_options()->mutable_shapes())["x"]);
  const absl::Status status = CheckFieldsKnown("", request);
  EXPECT_EQ(FieldOf(status), "options.shapes.value.99");
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("field 99 of plait.v1.Shape"));
}

}  // namespace
}  // namespace plait::wire
