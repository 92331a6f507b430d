#include <limits>

#include "gtest/gtest.h"
#include "tests/optimizer/ops/call_operator.h"

namespace plait {
namespace {

struct Row {
  std::string name;
  Call call;
  std::string expected;
};

void ExpectAll(absl::Span<const Row> rows) {
  for (const Row& row : rows) {
    EXPECT_EQ(InferredText(row.call), row.expected) << OpKindName(row.call.op) << ": " << row.name;
  }
}

TEST(MovementLimitsTest, RefusesHostileViews) {
  const TensorType x{DataType::kFloat32, {2, 3}};
  const TensorType list{DataType::kInt64, {2}};
  const Tensor truth = Bools({}, {1});
  ExpectAll({
      {"no ratio", {OpKind::kDropout, {}, {x, Floats({0}, {})}}, kInvalid},
      {"training", {OpKind::kDropout, {}, {x, Argument(), truth}}, kUnimplemented},
      {"axis", {OpKind::kFlatten, {{"axis", int64_t{3}}}, {x}}, kInvalid},
      {"axis", {OpKind::kFlatten, {{"axis", kInt64Min}}, {x}}, kInvalid},
      {"two -1", {OpKind::kReshape, {}, {x, Int64s({-1, -1})}}, kInvalid},
      {"-2", {OpKind::kReshape, {}, {x, Int64s({-2, 3})}}, kInvalid},
      {"count", {OpKind::kReshape, {}, {x, Int64s({4, 2})}}, kInvalid},
      {"remainder", {OpKind::kReshape, {}, {x, Int64s({4, -1})}}, kInvalid},
      {"overflow", {OpKind::kReshape, {}, {x, Int64s({kInt64Max, kInt64Max})}}, kInvalid},
      {"0 beyond rank", {OpKind::kReshape, {}, {x, Int64s({6, 1, 0})}}, kInvalid},
      {"0 and -1", {OpKind::kReshape, {{"allowzero", int64_t{1}}}, {x, Int64s({0, -1})}}, kInvalid},
      {"rank", {OpKind::kReshape, {}, {x, Int64s(std::vector<int64_t>(17, 1))}}, kInvalid},
      {"float shape", {OpKind::kReshape, {}, {x, Floats({2}, {3, 2})}}, kInvalid},
      {"matrix shape", {OpKind::kReshape, {}, {x, Tensor::Of<int64_t>({1, 2}, {3, 2})}}, kInvalid},
      {"computed shape", {OpKind::kReshape, {}, {x, list}}, kUnimplemented},
      {"not 1", {OpKind::kSqueeze, {}, {x, Int64s({0})}}, kInvalid},
      {"axis", {OpKind::kSqueeze, {}, {x, Int64s({2})}}, kInvalid},
      {"computed axes", {OpKind::kSqueeze, {}, {x, list}}, kUnimplemented},
      {"axis", {OpKind::kUnsqueeze, {}, {x, Int64s({3})}}, kInvalid},
      {"repeated axis", {OpKind::kUnsqueeze, {}, {x, Int64s({0, -4})}}, kInvalid},
      {"rank",
       {OpKind::kUnsqueeze, {}, {x, Int64s({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14})}},
       kInvalid},
  });
}

TEST(MovementLimitsTest, RefusesHostileMovement) {
  const TensorType x{DataType::kFloat32, {2, 3}};
  const TensorType scalar{DataType::kFloat32, {}};
  const TensorType text{DataType::kString, {2, 3}};
  const Attributes axis0 = {{"axis", int64_t{0}}};
  const auto slice = [&](std::vector<int64_t> starts, std::vector<int64_t> axes,
                         std::vector<int64_t> steps) {
    return Call{
        OpKind::kSlice, {}, {x, Int64s(starts), Int64s(starts), Int64s(axes), Int64s(steps)}};
  };
  ExpectAll({
      {"short perm", {OpKind::kTranspose, {{"perm", Ints({0})}}, {x}}, kInvalid},
      {"repeated perm", {OpKind::kTranspose, {{"perm", Ints({0, 0})}}, {x}}, kInvalid},
      {"perm range", {OpKind::kTranspose, {{"perm", Ints({0, 2})}}, {x}}, kInvalid},
      {"string", {OpKind::kTranspose, {}, {text}}, kUnimplemented},
      {"step 0", slice({0}, {0}, {0}), kInvalid},
      {"axis", slice({0}, {2}, {1}), kInvalid},
      {"repeated axis", slice({0, 0}, {1, -1}, {1, 1}), kInvalid},
      {"lengths", slice({0, 0}, {0, 1}, {1}), kInvalid},
      {"more than rank", {OpKind::kSlice, {}, {scalar, Int64s({0}), Int64s({1})}}, kInvalid},
      {"computed start",
       {OpKind::kSlice, {}, {x, TensorType{DataType::kInt64, {1}}, Int64s({1})}},
       kUnimplemented},
      {"no axis", {OpKind::kConcat, {}, {x, x}}, kInvalid},
      {"scalar", {OpKind::kConcat, axis0, {scalar}}, kInvalid},
      {"other dim", {OpKind::kConcat, axis0, {x, TensorType{x.dtype, {2, 4}}}}, kInvalid},
      {"other rank", {OpKind::kConcat, axis0, {x, TensorType{x.dtype, {2}}}}, kInvalid},
      {"no sizes", {OpKind::kSplit, {}, {x}, 2}, kInvalid},
      {"sum", {OpKind::kSplit, {}, {x, Int64s({1, 2})}, 2}, kInvalid},
      {"negative part", {OpKind::kSplit, {}, {x, Int64s({3, -1})}, 2}, kInvalid},
      {"overflow", {OpKind::kSplit, {}, {x, Int64s({kInt64Max, kInt64Max, 4})}, 3}, kInvalid},
      {"outputs", {OpKind::kSplit, {}, {x, Int64s({2})}, 2}, kInvalid},
      {"many", {OpKind::kSplit, {{"num_outputs", kInt64Max}}, {x}, 2}, kInvalid},
      {"index", {OpKind::kGather, {}, {x, Int64s({2})}}, kInvalid},
      {"float index", {OpKind::kGather, {}, {x, scalar}}, kInvalid},
      {"scalar data", {OpKind::kGather, {}, {scalar, Int64s({0})}}, kInvalid},
      {"shape", {OpKind::kExpand, {}, {x, Int64s({4, 3})}}, kInvalid},
      {"negative", {OpKind::kExpand, {}, {scalar, Int64s({-1})}}, kInvalid},
      {"huge", {OpKind::kExpand, {}, {scalar, Int64s({kInt64Max, 2})}}, kInvalid},
      {"count", {OpKind::kTile, {}, {x, Int64s({2})}}, kInvalid},
      {"negative", {OpKind::kTile, {}, {x, Int64s({2, -1})}}, kInvalid},
      {"overflow", {OpKind::kTile, {}, {x, Int64s({kInt64Max, 2})}}, kInvalid},
  });
}

TEST(MovementLimitsTest, RefusesHostileScatters) {
  const TensorType x{DataType::kFloat32, {2, 3}};
  const TensorType scalar{DataType::kFloat32, {}};
  const TensorType truths{DataType::kBool, {2}};
  const TensorType computed{DataType::kInt64, {2, 1}};
  const Tensor row = Floats({1, 3}, {1, 2, 3});
  const auto scatter = [&](Tensor indices, Argument updates) {
    return Call{OpKind::kScatterND, {}, {x, std::move(indices), std::move(updates)}};
  };
  const auto reduced = [&](absl::string_view reduction, const TensorType& data) {
    return Call{
        OpKind::kScatterND, {{"reduction", std::string(reduction)}}, {data, computed, data}};
  };
  ExpectAll({
      {"index", scatter(Tensor::Of<int64_t>({1, 1}, {2}), row), kInvalid},
      {"negative index", scatter(Tensor::Of<int64_t>({1, 1}, {-3}), row), kInvalid},
      {"second index", scatter(Tensor::Of<int64_t>({1, 2}, {1, 3}), Floats({1}, {1})), kInvalid},
      {"no depth", scatter(Tensor::Of<int64_t>({1, 0}, {}), row), kInvalid},
      {"depth", scatter(Tensor::Of<int64_t>({1, 3}, {0, 0, 0}), row), kInvalid},
      {"scalar index", scatter(Tensor::ScalarInt64(0), row), kInvalid},
      {"float index", scatter(Floats({1, 1}, {0}), row), kInvalid},
      {"more updates", scatter(Tensor::Of<int64_t>({1, 1}, {0}), x), kInvalid},
      {"updates' rank", scatter(Tensor::Of<int64_t>({1, 1}, {0}), scalar), kInvalid},
      {"updates' type", scatter(Tensor::Of<int64_t>({1, 1}, {0}), computed), kInvalid},
      {"of nothing",
       {OpKind::kScatterND,
        {},
        {TensorType{x.dtype, {0}}, Tensor::Of<int64_t>({1, 1}, {0}), Floats({1}, {1})}},
       kInvalid},
      {"scalar data", {OpKind::kScatterND, {}, {scalar, computed, scalar}}, kInvalid},
      {"reduction", reduced("mean", TensorType{x.dtype, {2}}), kInvalid},
      {"sum of bools", reduced("add", truths), kUnimplemented},
      {"bools", reduced("none", truths), "bool[2]"},
  });
}

TEST(MovementLimitsTest, RefusesHostilePadsAndFills) {
  const TensorType x{DataType::kFloat32, {2, 3}};
  const TensorType computed{DataType::kInt64, {2}};
  const Attributes edge = {{"mode", std::string("edge")}};
  const Tensor one = Tensor::ScalarFloat(1);
  const auto pad = [&](std::vector<int64_t> pads) {
    return Call{OpKind::kPad, {}, {x, Int64s(pads)}};
  };
  const auto range = [](double start, double limit, double delta) {
    const auto scalar = [](double value) {
      return Tensor::FromDoubles(TensorType{DataType::kFloat64, {}}, {value});
    };
    return Call{OpKind::kRange, {}, {scalar(start), scalar(limit), scalar(delta)}};
  };
  const double infinity = std::numeric_limits<double>::infinity();
  ExpectAll({
      {"count", pad({1, 1}), kInvalid},
      {"more than is there", pad({-1, 0, -2, 0}), kInvalid},
      {"overflow", pad({kInt64Max, 0, kInt64Max, 0}), kInvalid},
      {"underflow", pad({kInt64Min, 0, kInt64Min, 0}), kInvalid},
      {"mode", {OpKind::kPad, {{"mode", std::string("x")}}, {x, Int64s({0, 0, 0, 0})}}, kInvalid},
      {"negative edge", {OpKind::kPad, edge, {x, Int64s({-1, 0, 0, 0})}}, kUnimplemented},
      {"edge of nothing",
       {OpKind::kPad, edge, {TensorType{x.dtype, {0}}, Int64s({1, 0})}},
       kInvalid},
      {"value type",
       {OpKind::kPad, {}, {x, Int64s({0, 0, 0, 0}), Tensor::ScalarInt64(1)}},
       kInvalid},
      {"repeated axis",
       {OpKind::kPad, {}, {x, Int64s({0, 0, 0, 0}), one, Int64s({0, -2})}},
       kInvalid},
      {"no target", {OpKind::kCast, {}, {x}}, kInvalid},
      {"float8", {OpKind::kCast, {{"to", int64_t{17}}}, {x}}, kUnimplemented},
      {"string", {OpKind::kCast, {{"to", int64_t{8}}}, {x}}, kUnimplemented},
      {"negative", {OpKind::kConstantOfShape, {}, {Int64s({-1})}}, kInvalid},
      {"huge", {OpKind::kConstantOfShape, {}, {Int64s({kInt64Max, kInt64Max})}}, kInvalid},
      {"computed", {OpKind::kConstantOfShape, {}, {computed}}, kUnimplemented},
      {"two values",
       {OpKind::kConstantOfShape, {{"value", Int64s({1, 2})}}, {Int64s({1})}},
       kInvalid},
      {"axis", {OpKind::kCumSum, {}, {x, Tensor::ScalarInt64(2)}}, kInvalid},
      {"vector", {OpKind::kTrilu, {}, {TensorType{x.dtype, {3}}}}, kInvalid},
      {"float condition", {OpKind::kWhere, {}, {x, x, x}}, kInvalid},
      {"types", {OpKind::kWhere, {}, {TensorType{DataType::kBool, {}}, x, computed}}, kInvalid},
      {"delta 0", range(0, 1, 0), kInvalid},
      {"endless", range(0, infinity, 1), kInvalid},
      {"nan", range(0, 1, std::numeric_limits<double>::quiet_NaN()), kInvalid},
      {"huge", range(0, 1, 1e-300), kInvalid},
      {"huge",
       {OpKind::kRange, {}, {Int64s({kInt64Min}), Int64s({kInt64Max}), Int64s({1})}},
       kInvalid},
  });
}

struct VersionRow {
  std::string name;
  int opset;
  Call old_form;
  Call newest_form;
};

// The attributes that a node keeps, and the values of its constant inputs.
void ExpectForm(const VersionedNode& node, const Call& expected, const std::string& name) {
  EXPECT_EQ(node.attributes, expected.attributes) << name;
  ASSERT_EQ(node.present.size(), expected.arguments.size()) << name;
  for (size_t i = 0; i < node.present.size(); ++i) {
    EXPECT_EQ(node.present[i], expected.arguments[i].type.known()) << name << " input " << i;
    EXPECT_EQ(node.constants[i], expected.arguments[i].value) << name << " input " << i;
  }
}

TEST(MovementLimitsTest, RaisesToTheNewestFormAndBack) {
  const TensorType x{DataType::kFloat32, {2, 1, 3}};
  const Argument none;
  const VersionRow rows[] = {
      {"dropout",
       7,
       {OpKind::kDropout, {{"ratio", 0.25f}}, {x}},
       {OpKind::kDropout, {}, {x, Tensor::ScalarFloat(0.25f)}}},
      {"pad",
       10,
       {OpKind::kPad, {{"pads", Ints({0, 0, 1, 0, 0, 1})}, {"value", 2.0f}}, {x}},
       {OpKind::kPad, {}, {x, Int64s({0, 0, 1, 0, 0, 1}), Tensor::ScalarFloat(2)}}},
      {"reflecting pad",
       7,
       {OpKind::kPad, {{"mode", std::string("reflect")}, {"pads", Ints({0, 0, 1, 0, 0, 1})}}, {x}},
       {OpKind::kPad, {{"mode", std::string("reflect")}}, {x, Int64s({0, 0, 1, 0, 0, 1})}}},
      {"slice",
       9,
       {OpKind::kSlice, {{"axes", Ints({2})}, {"ends", Ints({-1})}, {"starts", Ints({1})}}, {x}},
       {OpKind::kSlice, {}, {x, Int64s({1}), Int64s({-1}), Int64s({2})}}},
      {"slice of all axes",
       7,
       {OpKind::kSlice, {{"ends", Ints({1})}, {"starts", Ints({0})}}, {x}},
       {OpKind::kSlice, {}, {x, Int64s({0}), Int64s({1})}}},
      {"split",
       12,
       {OpKind::kSplit, {{"axis", int64_t{2}}, {"split", Ints({1, 2})}}, {x}, 2},
       {OpKind::kSplit, {{"axis", int64_t{2}}}, {x, Int64s({1, 2})}, 2}},
      {"equal split",
       13,
       {OpKind::kSplit, {}, {x}, 2},
       {OpKind::kSplit, {{"num_outputs", int64_t{2}}}, {x}, 2}},
      {"squeeze",
       12,
       {OpKind::kSqueeze, {{"axes", Ints({1})}}, {x}},
       {OpKind::kSqueeze, {}, {x, Int64s({1})}}},
      {"squeeze of all", 7, {OpKind::kSqueeze, {}, {x}}, {OpKind::kSqueeze, {}, {x}}},
      {"unsqueeze",
       11,
       {OpKind::kUnsqueeze, {{"axes", Ints({0, -1})}}, {x}},
       {OpKind::kUnsqueeze, {}, {x, Int64s({0, -1})}}},
  };
  for (const VersionRow& row : rows) {
    const OpSpec& spec = SpecOf(row.old_form.op);
    VersionedNode node = Versioned(row.opset, row.old_form);
    ASSERT_TRUE(spec.raise(&node).ok()) << row.name;
    ExpectForm(node, row.newest_form, row.name + " raised");
    EXPECT_TRUE(Infer(CallOf(row.newest_form.op, node)).ok()) << row.name;
    ASSERT_TRUE(spec.lower(&node).ok()) << row.name;
    ExpectForm(node, row.old_form, row.name + " lowered");
  }
}

TEST(MovementLimitsTest, LowersFormsThatAnOldOpsetWritesOtherwise) {
  const TensorType x{DataType::kFloat32, {2, 1, 3}};
  const TensorType line{DataType::kFloat32, {5}};
  const Attributes last = {{"axis", int64_t{-1}}};
  const VersionRow rows[] = {
      {"axis",
       10,
       {OpKind::kConcat, {{"axis", int64_t{2}}}, {x, x}},
       {OpKind::kConcat, last, {x, x}}},
      {"axis", 11, {OpKind::kConcat, last, {x, x}}, {OpKind::kConcat, last, {x, x}}},
      {"axis", 10, {OpKind::kFlatten, {{"axis", int64_t{2}}}, {x}}, {OpKind::kFlatten, last, {x}}},
      {"axes",
       10,
       {OpKind::kSqueeze, {{"axes", Ints({1})}}, {x}},
       {OpKind::kSqueeze, {}, {x, Int64s({-2})}}},
      {"axes",
       10,
       {OpKind::kUnsqueeze, {{"axes", Ints({3})}}, {x}},
       {OpKind::kUnsqueeze, {}, {x, Int64s({-1})}}},
      {"steps of 1",
       9,
       {OpKind::kSlice, {{"axes", Ints({2})}, {"ends", Ints({2})}, {"starts", Ints({1})}}, {x}},
       {OpKind::kSlice, {}, {x, Int64s({1}), Int64s({2}), Int64s({-1}), Int64s({1})}}},
      {"uneven split",
       17,
       {OpKind::kSplit, {}, {line, Int64s({3, 2})}, 2},
       {OpKind::kSplit, {{"num_outputs", int64_t{2}}}, {line}, 2}},
      {"uneven split",
       12,
       {OpKind::kSplit, {{"split", Ints({3, 2})}}, {line}, 2},
       {OpKind::kSplit, {{"num_outputs", int64_t{2}}}, {line}, 2}},
      {"pad axes",
       17,
       {OpKind::kPad, {}, {x, Int64s({0, 0, 1, 0, 0, 2})}},
       {OpKind::kPad, {}, {x, Int64s({1, 2}), Argument(), Int64s({-1})}}},
      {"no zeros",
       13,
       {OpKind::kReshape, {}, {x, Int64s({6})}},
       {OpKind::kReshape, {{"allowzero", int64_t{1}}}, {x, Int64s({6})}}},
      {"whole shape",
       14,
       {OpKind::kShape, {}, {x}},
       {OpKind::kShape, {{"start", int64_t{0}}}, {x}}},
  };
  for (const VersionRow& row : rows) {
    VersionedNode node = Versioned(row.opset, row.newest_form);
    ASSERT_TRUE(SpecOf(row.newest_form.op).lower(&node).ok()) << row.name;
    ExpectForm(node, row.old_form, row.name);
  }
}

TEST(MovementLimitsTest, RefusesToLowerWhatAnOpsetLacks) {
  const TensorType x{DataType::kFloat32, {2, 3}};
  const TensorType list{DataType::kInt64, {2}};
  const TensorType half{DataType::kFloat16, {}};
  const Attributes allow_zero = {{"allowzero", int64_t{1}}};
  struct LowerRow {
    int opset;
    Call call;
  };
  const LowerRow rows[] = {
      {9, {OpKind::kDropout, {}, {x}, 2}},
      {13, {OpKind::kReshape, allow_zero, {x, Int64s({0, 3})}}},
      {12, {OpKind::kSqueeze, {}, {x, list}}},
      {9, {OpKind::kSlice, {}, {x, Int64s({0}), Int64s({2}), Int64s({0}), Int64s({2})}}},
      {18, {OpKind::kPad, {{"mode", std::string("wrap")}}, {x, Int64s({0, 0, 0, 1})}}},
      {10, {OpKind::kPad, {}, {TensorType{DataType::kInt64, {1}}, Int64s({0, 1})}}},
      {10, {OpKind::kGather, {}, {x, Int64s({-1})}}},
      {14, {OpKind::kShape, {{"end", int64_t{1}}}, {x}}},
      {26, {OpKind::kRange, {}, {half, half, half}}},
  };
  for (const LowerRow& row : rows) {
    VersionedNode node = Versioned(row.opset, row.call);
    EXPECT_EQ(SpecOf(row.call.op).lower(&node).code(), absl::StatusCode::kUnimplemented)
        << OpKindName(row.call.op);
  }
}

}  // namespace
}  // namespace plait
