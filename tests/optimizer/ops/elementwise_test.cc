#include <cmath>
#include <limits>

#include "base/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/optimizer/ops/call_operator.h"

namespace plait {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<OpKind> OperatorsWith(uint32_t traits) {
  std::vector<OpKind> ops;
  for (int i = 1; i < kOpKindCount; ++i) {
    const OpKind op = static_cast<OpKind>(i);
    if (HasTraits(op, traits)) ops.push_back(op);
  }
  return ops;
}

TEST(ElementwiseTest, ComputesFloatFunctions) {
  struct Row {
    OpKind op;
    Attributes attributes;
    std::vector<double> expected;  // at -2, -0.5, 0, 1.5
  };
  const Row rows[] = {
      {OpKind::kAbs, {}, {2, 0.5, 0, 1.5}},
      {OpKind::kCeil, {}, {-2, 0, 0, 2}},
      {OpKind::kCos, {}, {-0.4161468365, 0.8775825619, 1, 0.0707372017}},
      {OpKind::kElu, {}, {-0.8646647168, -0.3934693403, 0, 1.5}},
      {OpKind::kElu, {{"alpha", 2.0f}}, {-1.7293294335, -0.7869386806, 0, 1.5}},
      {OpKind::kErf, {}, {-0.9953222650, -0.5204998778, 0, 0.9661051465}},
      {OpKind::kExp, {}, {0.1353352832, 0.6065306597, 1, 4.4816890703}},
      {OpKind::kFloor, {}, {-2, -1, 0, 1}},
      {OpKind::kGelu, {}, {-0.0455002639, -0.1542687694, 0, 1.3997891981}},
      {OpKind::kGelu,
       {{"approximate", std::string("tanh")}},
       {-0.0454023059, -0.1542859902, 0, 1.3995715770}},
      {OpKind::kHardSigmoid, {}, {0.1, 0.4, 0.5, 0.8}},
      {OpKind::kHardSigmoid, {{"alpha", 1.0f}, {"beta", 0.0f}}, {0, 0, 0, 1}},
      {OpKind::kHardSwish, {}, {-1.0 / 3, -5.0 / 24, 0, 1.125}},
      {OpKind::kLeakyRelu, {}, {-0.02, -0.005, 0, 1.5}},
      {OpKind::kLeakyRelu, {{"alpha", 0.5f}}, {-1, -0.25, 0, 1.5}},
      {OpKind::kNeg, {}, {2, 0.5, 0, -1.5}},
      {OpKind::kReciprocal, {}, {-0.5, -2, kInf, 2.0 / 3}},
      {OpKind::kRelu, {}, {0, 0, 0, 1.5}},
      {OpKind::kSigmoid, {}, {0.1192029220, 0.3775406688, 0.5, 0.8175744762}},
      {OpKind::kSin, {}, {-0.9092974268, -0.4794255386, 0, 0.9974949866}},
      {OpKind::kSoftplus, {}, {0.1269280110, 0.4740769842, 0.6931471806, 1.7014132779}},
      {OpKind::kSwish, {}, {-0.2384058440, -0.1887703344, 0, 1.2263617143}},
      {OpKind::kSwish, {{"alpha", 2.0f}}, {-0.0359724199, -0.1344707107, 0, 1.4288611902}},
      {OpKind::kTanh, {}, {-0.9640275801, -0.4621171573, 0, 0.9051482536}},
      {OpKind::kAsinh, {}, {-1.4436354752, -0.4812118251, 0, 1.1947632173}},
      {OpKind::kAtan, {}, {-1.1071487178, -0.4636476090, 0, 0.9827937232}},
      {OpKind::kCelu, {{"alpha", 2.0f}}, {-1.2642411177, -0.4423984339, 0, 1.5}},
      {OpKind::kCosh, {}, {3.7621956911, 1.1276259652, 1, 2.3524096152}},
      {OpKind::kMish, {}, {-0.2525014827, -0.2207437747, 0, 1.4033782664}},
      {OpKind::kRound, {}, {-2, 0, 0, 2}},
      {OpKind::kSelu, {}, {-1.5201664686, -0.6917581878, 0, 1.5760515332}},
      {OpKind::kSelu, {{"alpha", 1.0f}, {"gamma", 2.0f}}, {-1.7293294335, -0.7869386806, 0, 3}},
      {OpKind::kShrink, {{"lambd", 1.0f}, {"bias", 0.25f}}, {-1.75, 0, 0, 1.25}},
      {OpKind::kSign, {}, {-1, -1, 0, 1}},
      {OpKind::kSinh, {}, {-3.6268604078, -0.5210953055, 0, 2.1292794551}},
      {OpKind::kSoftsign, {}, {-2.0 / 3, -1.0 / 3, 0, 0.6}},
      {OpKind::kTan, {}, {2.1850398633, -0.5463024898, 0, 14.1014199472}},
      {OpKind::kThresholdedRelu, {{"alpha", -0.5f}}, {0, 0, 0, 1.5}},
  };
  const Tensor x = Floats({2, 2}, {-2, -0.5, 0, 1.5});
  for (const Row& row : rows) {
    SCOPED_TRACE(OpKindName(row.op).data());
    const Call call{row.op, row.attributes, {x}};
    EXPECT_EQ(InferredText(call), "float32[2,2]");
    for (size_t i = 0; i < row.expected.size(); ++i) {
      const double actual = Doubles(call).at(i);
      // The infinite reciprocal of 0 has no distance to itself.
      if (std::isinf(row.expected[i])) {
        EXPECT_EQ(actual, row.expected[i]);
      } else {
        EXPECT_NEAR(actual, row.expected[i], 1e-6);
      }
    }
  }
  EXPECT_THAT(Doubles({OpKind::kLog, {}, {Floats({2}, {1, 8})}}),
              Pointwise(DoubleNear(1e-6), {0.0, 2.0794415417}));
  EXPECT_THAT(Doubles({OpKind::kSqrt, {}, {Floats({2}, {4, 2})}}),
              Pointwise(DoubleNear(1e-6), {2.0, 1.4142135624}));
}

TEST(ElementwiseTest, StaysFiniteWhereTheFunctionIs) {
  const Tensor large = Floats({2}, {-1000, 1000});
  EXPECT_THAT(Doubles({OpKind::kSoftplus, {}, {large}}), ElementsAre(0, 1000));
  EXPECT_THAT(Doubles({OpKind::kSigmoid, {}, {large}}), ElementsAre(0, 1));
  EXPECT_THAT(Doubles({OpKind::kSwish, {}, {large}}), ElementsAre(0, 1000));
}

TEST(ElementwiseTest, ComputesArithmeticWithBroadcasting) {
  const Tensor column = Floats({2, 1}, {6, -7});
  const Tensor row = Floats({3}, {1, 2, 4});
  const auto binary = [&](OpKind op) { return Doubles({op, {}, {column, row}}); };
  EXPECT_EQ(InferredText({OpKind::kAdd, {}, {column, row}}), "float32[2,3]");
  EXPECT_THAT(binary(OpKind::kAdd), ElementsAre(7, 8, 10, -6, -5, -3));
  EXPECT_THAT(binary(OpKind::kSub), ElementsAre(5, 4, 2, -8, -9, -11));
  EXPECT_THAT(binary(OpKind::kMul), ElementsAre(6, 12, 24, -7, -14, -28));
  EXPECT_THAT(binary(OpKind::kDiv), ElementsAre(6, 3, 1.5, -7, -3.5, -1.75));
  EXPECT_THAT(binary(OpKind::kPow), ElementsAre(6, 36, 1296, -7, 49, 2401));
  EXPECT_THAT(binary(OpKind::kMod), ElementsAre(0, 0, 2, 0, 1, 1));
  EXPECT_THAT(Doubles({OpKind::kMod, {{"fmod", int64_t{1}}}, {column, row}}),
              ElementsAre(0, 0, 2, 0, -1, -3));
  EXPECT_THAT(Doubles({OpKind::kPRelu, {}, {Floats({2, 2}, {1, -1, -2, 2}), Floats({2}, {3, 5})}}),
              ElementsAre(1, -5, -6, 2));
  const std::vector<Argument> three = {column, row, Floats({}, {5})};
  EXPECT_THAT(Doubles({OpKind::kSum, {}, three}), ElementsAre(12, 13, 15, -1, 0, 2));
  EXPECT_THAT(Doubles({OpKind::kMax, {}, three}), ElementsAre(6, 6, 6, 5, 5, 5));
  EXPECT_THAT(Doubles({OpKind::kMin, {}, three}), ElementsAre(1, 2, 4, -7, -7, -7));
}

TEST(ElementwiseTest, ComparesAndCombinesBools) {
  const Tensor a = Floats({3}, {1, 2, 3});
  const Tensor two = Floats({}, {2});
  const auto compare = [&](OpKind op) { return Integers({op, {}, {a, two}}); };
  EXPECT_EQ(InferredText({OpKind::kLess, {}, {a, two}}), "bool[3]");
  EXPECT_THAT(compare(OpKind::kEqual), ElementsAre(0, 1, 0));
  EXPECT_THAT(compare(OpKind::kGreater), ElementsAre(0, 0, 1));
  EXPECT_THAT(compare(OpKind::kGreaterOrEqual), ElementsAre(0, 1, 1));
  EXPECT_THAT(compare(OpKind::kLess), ElementsAre(1, 0, 0));
  EXPECT_THAT(compare(OpKind::kLessOrEqual), ElementsAre(1, 1, 0));
  const Tensor p = Bools({2, 1}, {0, 1});
  const Tensor q = Bools({2}, {0, 1});
  EXPECT_THAT(Integers({OpKind::kAnd, {}, {p, q}}), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(Integers({OpKind::kOr, {}, {p, q}}), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(Integers({OpKind::kXor, {}, {p, q}}), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(Integers({OpKind::kNot, {}, {p}}), ElementsAre(1, 0));
  EXPECT_THAT(Integers({OpKind::kIsNaN, {}, {Floats({3}, {1, kNan, kInf})}}), ElementsAre(0, 1, 0));
}

TEST(ElementwiseTest, KeepsNan) {
  const Tensor x = Floats({2}, {kNan, 1});
  const Tensor y = Floats({2}, {2, kNan});
  for (const OpKind op : {OpKind::kMax, OpKind::kMin}) {
    const std::vector<double> values = Doubles({op, {}, {x, y}});
    EXPECT_TRUE(std::isnan(values[0]) && std::isnan(values[1])) << OpKindName(op);
  }
  EXPECT_TRUE(std::isnan(Doubles({OpKind::kRelu, {}, {x}})[0]));
  EXPECT_TRUE(std::isnan(Doubles({OpKind::kHardSigmoid, {}, {x}})[0]));
  EXPECT_TRUE(std::isnan(Doubles({OpKind::kClip, {}, {x, Floats({}, {0}), Floats({}, {1})}})[0]));
  for (const OpKind op : {OpKind::kGreaterOrEqual, OpKind::kLessOrEqual, OpKind::kEqual}) {
    EXPECT_THAT(Integers({op, {}, {x, y}}), ElementsAre(0, 0)) << OpKindName(op);
  }
}

TEST(ElementwiseTest, ComputesIntegersExactly) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kLarge = (int64_t{1} << 53) + 1;
  EXPECT_THAT(Integers({OpKind::kAdd, {}, {Int64s({kLarge}), Int64s({0})}}), ElementsAre(kLarge));
  EXPECT_THAT(Integers({OpKind::kDiv, {}, {Int64s({-7, 7, 5, kMin}), Int64s({2, -2, 0, -1})}}),
              ElementsAre(-3, -3, 0, kMin));
  EXPECT_THAT(Integers({OpKind::kMod, {}, {Int64s({-7, 7, 5, kMin}), Int64s({3, -3, 0, -1})}}),
              ElementsAre(2, -2, 0, 0));
  EXPECT_THAT(Integers({OpKind::kMod, {{"fmod", int64_t{1}}}, {Int64s({-7, 7}), Int64s({3, -3})}}),
              ElementsAre(-1, 1));
  EXPECT_THAT(Integers({OpKind::kPow, {}, {Int64s({3, 2, -1, 0}), Int64s({4, -1, -3, 0})}}),
              ElementsAre(81, 0, -1, 1));
  EXPECT_THAT(Integers({OpKind::kPow, {}, {Int64s({9, 9}), Floats({2}, {0.5, 1000})}}),
              ElementsAre(3, std::numeric_limits<int64_t>::max()));
  EXPECT_THAT(Integers({OpKind::kAbs, {}, {Int64s({-3, kMin})}}), ElementsAre(3, kMin));
  EXPECT_THAT(Integers({OpKind::kNeg, {}, {Int64s({-3, kMin})}}), ElementsAre(3, kMin));
  EXPECT_THAT(Integers({OpKind::kRelu, {}, {Int64s({-3, 3})}}), ElementsAre(0, 3));
}

TEST(ElementwiseTest, NegatesZeros) {
  const std::vector<double> zeros = Doubles({OpKind::kNeg, {}, {Floats({2}, {0.0, -0.0})}});
  ASSERT_EQ(zeros.size(), 2u);
  EXPECT_TRUE(std::signbit(zeros[0]));
  EXPECT_FALSE(std::signbit(zeros[1]));
}

TEST(ElementwiseTest, WrapsNarrowIntegersAndOrdersUnsignedOnes) {
  const Tensor small = OfType(DataType::kInt8, {100, -100});
  EXPECT_THAT(Integers({OpKind::kAdd, {}, {small, small}}), ElementsAre(-56, 56));
  const Tensor unsigned_large = OfType(DataType::kUint64, {-1, 1});
  const Tensor unsigned_two = OfType(DataType::kUint64, {2});
  EXPECT_THAT(Integers({OpKind::kLess, {}, {unsigned_large, unsigned_two}}), ElementsAre(0, 1));
  EXPECT_THAT(Integers({OpKind::kMax, {}, {unsigned_large, unsigned_two}}), ElementsAre(-1, 2));
  EXPECT_THAT(Integers({OpKind::kDiv, {}, {unsigned_large, unsigned_two}}),
              ElementsAre(std::numeric_limits<int64_t>::max(), 0));
  EXPECT_THAT(Integers({OpKind::kClip, {}, {unsigned_large, Argument(), unsigned_two}}),
              ElementsAre(2, 1));
}

TEST(ElementwiseTest, ClipsBetweenOptionalBounds) {
  const Tensor x = Floats({3}, {-5, 0.5, 5});
  const Tensor low = Floats({}, {-1});
  const Tensor high = Floats({}, {1});
  EXPECT_THAT(Doubles({OpKind::kClip, {}, {x}}), ElementsAre(-5, 0.5, 5));
  EXPECT_THAT(Doubles({OpKind::kClip, {}, {x, low}}), ElementsAre(-1, 0.5, 5));
  EXPECT_THAT(Doubles({OpKind::kClip, {}, {x, Argument(), high}}), ElementsAre(-5, 0.5, 1));
  EXPECT_THAT(Doubles({OpKind::kClip, {}, {x, high, low}}), ElementsAre(-1, -1, -1));
}

TEST(ElementwiseTest, EvaluatesSumsProductsAndQuotientsInAField) {
  Random random(7);
  const auto scalar = [&] { return FieldElement(random.Next()); };
  const FieldElement a = scalar();
  const FieldElement b = scalar();
  const TensorType type{DataType::kFloat32, {}};
  const auto run = [&](OpKind op, std::vector<FieldElement> values) {
    std::vector<EvalTensor> tensors;
    for (FieldElement value : values) tensors.push_back({type, std::vector<FieldElement>{value}});
    std::vector<const EvalTensor*> inputs;
    for (const EvalTensor& tensor : tensors) inputs.push_back(&tensor);
    const std::vector<const Tensor*> constants(inputs.size(), nullptr);
    const Attributes none;
    const auto outputs = RunOperator({op, none, constants}, inputs, Numbers::kField);
    return std::get<std::vector<FieldElement>>((*outputs)[0].values)[0];
  };
  EXPECT_EQ(run(OpKind::kAdd, {a, b}), a + b);
  EXPECT_EQ(run(OpKind::kSub, {a, b}), a - b);
  EXPECT_EQ(run(OpKind::kMul, {a, b}), a * b);
  EXPECT_EQ(run(OpKind::kNeg, {a}) + a, FieldElement());
  EXPECT_EQ(run(OpKind::kSum, {a, b, a}), a + b + a);
  EXPECT_EQ(run(OpKind::kDiv, {a, b}) * b, a);
  EXPECT_EQ(run(OpKind::kReciprocal, {a}) * a, FieldElement(1));
}

TEST(ElementwiseTest, RefusesAFieldWhereItHasNoMeaning) {
  const Tensor x = Floats({1}, {3});
  for (const OpKind op :
       {OpKind::kAbs, OpKind::kCeil, OpKind::kClip, OpKind::kErf, OpKind::kExp, OpKind::kIsNaN,
        OpKind::kRelu, OpKind::kTanh, OpKind::kMax, OpKind::kFloor, OpKind::kElu}) {
    // Max of one input is that input.
    std::vector<Argument> arguments = {x};
    if (op == OpKind::kMax) arguments.push_back(x);
    EXPECT_EQ(Evaluate({op, {}, arguments}, Numbers::kField).status().code(),
              absl::StatusCode::kUnimplemented)
        << OpKindName(op);
  }
  for (const OpKind op : {OpKind::kEqual, OpKind::kLess, OpKind::kMod, OpKind::kPow, OpKind::kPRelu,
                          OpKind::kGreaterOrEqual}) {
    EXPECT_EQ(Evaluate({op, {}, {x, x}}, Numbers::kField).status().code(),
              absl::StatusCode::kUnimplemented)
        << OpKindName(op);
  }
}

TEST(ElementwiseTest, RefusesWrongTypesAndShapes) {
  struct Row {
    std::string name;
    Call call;
    std::string expected;
  };
  const TensorType f23{DataType::kFloat32, {2, 3}};
  const TensorType f4{DataType::kFloat32, {4}};
  const TensorType i64{DataType::kInt64, {2, 3}};
  const TensorType boolean{DataType::kBool, {2, 3}};
  const TensorType text{DataType::kString, {2, 3}};
  const TensorType tall{DataType::kFloat32, {int64_t{1} << 39, 1}};
  const Row rows[] = {
      {"shapes do not broadcast", {OpKind::kAdd, {}, {f23, f4}}, "INVALID_ARGUMENT"},
      {"types differ", {OpKind::kMul, {}, {f23, i64}}, "INVALID_ARGUMENT"},
      {"bool arithmetic", {OpKind::kAdd, {}, {boolean, boolean}}, "INVALID_ARGUMENT"},
      {"float logic", {OpKind::kAnd, {}, {f23, f23}}, "INVALID_ARGUMENT"},
      {"float not", {OpKind::kNot, {}, {f23}}, "INVALID_ARGUMENT"},
      {"integer exp", {OpKind::kExp, {}, {i64}}, "INVALID_ARGUMENT"},
      {"integer sum", {OpKind::kSum, {}, {i64}}, "INVALID_ARGUMENT"},
      {"bool order", {OpKind::kLess, {}, {boolean, boolean}}, "INVALID_ARGUMENT"},
      {"string", {OpKind::kEqual, {}, {text, text}}, "UNIMPLEMENTED"},
      {"one operand", {OpKind::kSub, {}, {f23}}, "INVALID_ARGUMENT"},
      {"huge output",
       {OpKind::kMul, {}, {tall, TensorType{DataType::kFloat32, {4}}}},
       "INVALID_ARGUMENT"},
      {"clip by a vector", {OpKind::kClip, {}, {f23, f4}}, "INVALID_ARGUMENT"},
      {"clip by another type",
       {OpKind::kClip, {}, {f23, TensorType{DataType::kInt64, {}}}},
       "INVALID_ARGUMENT"},
      {"slope larger than x",
       {OpKind::kPRelu, {}, {f4, TensorType{f4.dtype, {2, 4}}}},
       "INVALID_ARGUMENT"},
      {"bool power", {OpKind::kPow, {}, {f23, boolean}}, "INVALID_ARGUMENT"},
      {"mixed power", {OpKind::kPow, {}, {f23, i64}}, "float32[2,3]"},
  };
  for (const Row& row : rows) EXPECT_EQ(InferredText(row.call), row.expected) << row.name;
}

TEST(ElementwiseTest, RaisesAndLowersClip) {
  const Argument x = TensorType{DataType::kFloat32, {3}};
  VersionedNode node = Versioned(6, {OpKind::kClip, {{"max", 6.0f}, {"min", -1.0f}}, {x}});
  ASSERT_TRUE(kClipSpec.raise(&node).ok());
  EXPECT_TRUE(node.attributes.empty());
  ASSERT_EQ(node.constants.size(), 3u);
  EXPECT_EQ(*node.constants[1], Tensor::ScalarFloat(-1.0f));
  EXPECT_EQ(*node.constants[2], Tensor::ScalarFloat(6.0f));
  ASSERT_TRUE(kClipSpec.lower(&node).ok());
  EXPECT_EQ(node.attributes, (Attributes{{"max", 6.0f}, {"min", -1.0f}}));
  EXPECT_EQ(node.present.size(), 1u);
}

TEST(ElementwiseTest, RaisesClipWithOneBound) {
  const Argument x = TensorType{DataType::kFloat64, {3}};
  VersionedNode node = Versioned(10, {OpKind::kClip, {{"max", 6.0f}}, {x}});
  ASSERT_TRUE(kClipSpec.raise(&node).ok());
  EXPECT_EQ(node.present, (std::vector<bool>{true, false, true}));
  EXPECT_EQ(InferredText(CallOf(OpKind::kClip, node)), "float64[3]");
}

TEST(ElementwiseTest, RefusesToLowerWhatAnOpsetLacks) {
  struct Row {
    std::string name;
    int opset;
    Call call;
    bool possible;
  };
  const TensorType f{DataType::kFloat32, {2}};
  const TensorType scalar{DataType::kFloat32, {}};
  const TensorType i{DataType::kInt64, {2}};
  const Row rows[] = {
      {"computed bound", 10, {OpKind::kClip, {}, {f, scalar}}, false},
      {"computed bound", 11, {OpKind::kClip, {}, {f, scalar}}, true},
      {"integer clip", 11, {OpKind::kClip, {}, {i}}, false},
      {"float equality", 10, {OpKind::kEqual, {}, {f, f}}, false},
      {"integer equality", 7, {OpKind::kEqual, {}, {i, i}}, true},
      {"integer order", 8, {OpKind::kLess, {}, {i, i}}, false},
      {"broadcasting max", 7, {OpKind::kMax, {}, {f, scalar}}, false},
      {"broadcasting max", 8, {OpKind::kMax, {}, {f, scalar}}, true},
      {"integer min", 11, {OpKind::kMin, {}, {i, i}}, false},
      {"integer power", 11, {OpKind::kPow, {}, {f, i}}, false},
      {"integer power", 12, {OpKind::kPow, {}, {f, i}}, true},
      {"float modulus", 27, {OpKind::kMod, {}, {f, f}}, false},
      {"float remainder", 10, {OpKind::kMod, {{"fmod", int64_t{1}}}, {f, f}}, true},
      {"integer slope", 8, {OpKind::kPRelu, {}, {i, i}}, false},
  };
  for (const Row& row : rows) {
    VersionedNode node = Versioned(row.opset, row.call);
    EXPECT_EQ(SpecOf(row.call.op).lower(&node).code(),
              row.possible ? absl::StatusCode::kOk : absl::StatusCode::kUnimplemented)
        << row.name << " in opset " << row.opset;
  }
}

TEST(ElementwiseTest, GivesTheTraitsThatRulesRelyOn) {
  for (const OpKind op : OperatorsWith(kElementwiseBinary)) {
    EXPECT_EQ(SpecOf(op).inputs.max, 2) << OpKindName(op);
    EXPECT_FALSE(HasTraits(op, kElementwiseUnary)) << OpKindName(op);
  }
  EXPECT_THAT(
      OperatorsWith(kElementwiseBinary | kCommutative),
      ElementsAre(OpKind::kAdd, OpKind::kAnd, OpKind::kBitwiseAnd, OpKind::kBitwiseOr,
                  OpKind::kBitwiseXor, OpKind::kEqual, OpKind::kMul, OpKind::kOr, OpKind::kXor));
  EXPECT_TRUE(HasTraits(OpKind::kClip, kElementwiseUnary));
  EXPECT_TRUE(HasTraits(OpKind::kSum, kCommutative));
}

}  // namespace
}  // namespace plait
