#include "optimizer/ops/evaluation/evaluate.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "optimizer/ops/evaluation/constant_expression.h"
#include "tests/optimizer/ops/op_testing.h"

namespace plait {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Graph Parsed(absl::string_view text) {
  absl::StatusOr<Graph> graph = ParseTypedGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *std::move(graph) : Graph();
}

TEST(EvaluateTest, RoundsEveryResultToItsType) {
  // 2048 + 1 is no float16: the second addition must not see the 2049 of the first.
  const Tensor x = Tensor::FromDoubles({DataType::kFloat16, {1}}, {2048});
  const Tensor one = Tensor::FromDoubles({DataType::kFloat16, {1}}, {1});
  EXPECT_THAT(Evaluated("graph {\ninput %x: float16[1]\ninput %one: float16[1]\n"
                        "%a = Add(%x, %one)\n%b = Add(%a, %one)\noutput %b\n}\n",
                        {x, one}),
              ElementsAre(2048));
}

TEST(EvaluateTest, RoundsIntegersOnlyWhenAskedTo) {
  const Graph graph = Parsed(
      "graph {\ninput %x: float16[1]\ninput %i: uint8[1]\n"
      "%y = Add(%x, %x)\n%j = Add(%i, %i)\noutput %y, %j\n}\n");
  const EvalTensor x = {{DataType::kFloat16, {1}}, std::vector<double>{2048.5}};
  const EvalTensor i = {{DataType::kUint8, {1}}, std::vector<int64_t>{200}};
  const absl::StatusOr<std::vector<EvalTensor>> outputs =
      EvaluateGraphUnrounded(graph, {x, i}, NoWeights());
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT(std::get<std::vector<double>>((*outputs)[0].values), ElementsAre(4097));
  EXPECT_THAT(std::get<std::vector<int64_t>>((*outputs)[1].values), ElementsAre(144));
}

TEST(EvaluateTest, SmallIntegersWrap) {
  const Tensor x = Tensor::Of<uint8_t>({2}, {200, 100});
  EXPECT_THAT(Evaluated("graph {\ninput %x: uint8[2]\n%y = Add(%x, %x)\noutput %y\n}\n", {x}),
              ElementsAre(144, 200));
}

TEST(EvaluateTest, InputsConstantsAndRepeatedOutputsMayBeOutputs) {
  const Graph graph = Parsed(
      "graph {\ninput %x: float32[1]\nconst %c: float32[1] = [3]\n%y = Neg(%x)\n"
      "output %y, %x, %c, %y\n}\n");
  const auto outputs = EvaluateGraph(graph, {Floats({1}, {2})}, NoWeights());
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  std::vector<double> values;
  for (const Tensor& output : *outputs) values.push_back(output.AsDoubles()[0]);
  EXPECT_THAT(values, ElementsAre(-2, 2, 3, -2));
}

TEST(EvaluateTest, RefusesInputsOfAnotherCountOrType) {
  const Graph graph = Parsed("graph {\ninput %x: float32[1]\n%y = Neg(%x)\noutput %y\n}\n");
  EXPECT_TRUE(absl::IsInvalidArgument(EvaluateGraph(graph, {}, NoWeights()).status()));
  const absl::Status status = EvaluateGraph(graph, {Floats({2}, {1, 2})}, NoWeights()).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("input x must be float32[1]"));
}

TEST(EvaluateTest, RefusesResultsThatNoMemoryHolds) {
  const Graph graph = Parsed(
      "graph {\nconst %s: int64[1] = [1099511627776]\n%y = ConstantOfShape(%s)\noutput %y\n}\n");
  EXPECT_TRUE(absl::IsResourceExhausted(EvaluateGraph(graph, {}, NoWeights()).status()));
}

TEST(EvaluateTest, OneNodeGivesAllItsOutputs) {
  const Graph graph = Parsed(
      "graph {\ninput %x: float32[1,1,2]\n%y, %i = MaxPool(%x) {kernel_shape=[2]}\n"
      "output %y, %i\n}\n");
  const Tensor x = Floats({1, 1, 2}, {1, 5});
  const auto outputs = EvaluateNode(graph, 0, {&x});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  ASSERT_EQ(outputs->size(), 2);
  EXPECT_THAT((*outputs)[0].AsDoubles(), ElementsAre(5));
  EXPECT_THAT((*outputs)[1].AsInt64s(), ElementsAre(1));
}

ConstantRef Apply(OpKind op, std::vector<ConstantRef> inputs, TensorType type) {
  return std::make_shared<const Constant>(
      std::move(type), Constant::Apply{op, NoAttributes(), std::move(inputs), 0});
}

TEST(EvaluateConstantTest, ComputesExpressions) {
  const ConstantRef two = Constant::OfTensor(Floats({1}, {2}));
  const ConstantRef sum = Apply(OpKind::kAdd, {two, two}, two->type());
  const auto value = EvaluateConstant(*Apply(OpKind::kMul, {sum, sum}, two->type()), NoWeights());
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_THAT(value->AsDoubles(), ElementsAre(16));
}

TEST(EvaluateConstantTest, WidensWeightsOf16Bits) {
  for (const DataType from : {DataType::kFloat16, DataType::kBfloat16}) {
    const ConstantRef weight = Constant::OfSynthetic({from, {7, 9}}, 3);
    const TensorType type = {DataType::kFloat32, {7, 9}};
    const AttributesRef to_float = MakeAttributes({{"to", int64_t{1}}});
    const auto value = EvaluateConstant(
        Constant(type, Constant::Apply{OpKind::kCast, to_float, {weight}, 0}), NoWeights());
    ASSERT_TRUE(value.ok()) << value.status();
    EXPECT_EQ(value->type(), type);
    EXPECT_EQ(value->AsDoubles(), EvaluateConstant(*weight, NoWeights())->AsDoubles());
    const Constant lies({DataType::kFloat32, {9, 7}},
                        Constant::Apply{OpKind::kCast, to_float, {weight}, 0});
    EXPECT_FALSE(EvaluateConstant(lies, NoWeights()).ok());
  }
}

TEST(EvaluateConstantTest, SharedAndDeepExpressionsCostTheirSizeOnly) {
  // As a tree it would have 2^20000 leaves and overflow the stack.
  ConstantRef value = Constant::OfTensor(Floats({1}, {0}));
  std::vector<ConstantRef> keep_alive;
  for (int i = 0; i < 20000; ++i) {
    keep_alive.push_back(value);
    value = Apply(OpKind::kAdd, {value, value}, value->type());
  }
  const auto result = EvaluateConstant(*value, NoWeights());
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->AsDoubles(), ElementsAre(0));
  // From the outside in, so that no destructor recurses.
  value.reset();
  while (!keep_alive.empty()) keep_alive.pop_back();
}

TEST(EvaluateConstantTest, SyntheticWeightsAreSeededAndInRange) {
  const TensorType type = {DataType::kFloat32, {100}};
  const auto a = EvaluateConstant(*Constant::OfSynthetic(type, 1), NoWeights());
  const auto b = EvaluateConstant(*Constant::OfSynthetic(type, 1), NoWeights());
  const auto c = EvaluateConstant(*Constant::OfSynthetic(type, 2), NoWeights());
  ASSERT_TRUE(a.ok() && b.ok() && c.ok());
  EXPECT_EQ(*a, *b);
  EXPECT_FALSE(*a == *c);
  EXPECT_THAT(a->AsDoubles(),
              ::testing::Each(::testing::AllOf(::testing::Ge(-1), ::testing::Le(1))));
}

TEST(EvaluateConstantTest, ASyntheticConstantOfNoNumbersIsRefused) {
  for (const DataType dtype : {DataType::kString, DataType::kUndefined}) {
    const auto value = EvaluateConstant(*Constant::OfSynthetic({dtype, {2}}, 1), NoWeights());
    EXPECT_EQ(value.status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(EvaluateConstantTest, SaysWhatIsMissingOrWrong) {
  const ConstantRef weight =
      Constant::OfWeight({DataType::kFloat32, {1}}, Digest{std::string(64, 'a'), 4});
  EXPECT_TRUE(absl::IsNotFound(EvaluateConstant(*weight, NoWeights()).status()));
  const ConstantRef lie =
      Apply(OpKind::kNeg, {Constant::OfTensor(Floats({1}, {2}))}, {DataType::kFloat32, {2}});
  EXPECT_TRUE(absl::IsInvalidArgument(EvaluateConstant(*lie, NoWeights()).status()));
  const ConstantRef huge = Constant::OfSynthetic({DataType::kFloat32, {int64_t{1} << 40}}, 1);
  EXPECT_TRUE(absl::IsResourceExhausted(EvaluateConstant(*huge, NoWeights()).status()));
}

TEST(ApplyToConstantsTest, MakesOneConcatOfSeveral) {
  const auto constant = [](uint64_t seed) {
    return Constant::OfSynthetic({DataType::kFloat32, {2, 3}}, seed);
  };
  const auto concat = [](std::vector<ConstantRef> inputs, int64_t axis) {
    auto joined =
        ApplyToConstants(OpKind::kConcat, MakeAttributes({{"axis", axis}}), std::move(inputs));
    EXPECT_TRUE(joined.ok()) << joined.status();
    return *std::move(joined);
  };
  const ConstantRef a = constant(1);
  const ConstantRef b = constant(2);
  const ConstantRef c = constant(3);
  EXPECT_EQ(concat({concat({a, b}, 1), c}, 1)->fingerprint(), concat({a, b, c}, 1)->fingerprint());
  EXPECT_EQ(concat({a, concat({b, c}, 1)}, 1)->depth(), 2);
  EXPECT_EQ(concat({concat({a, b}, 0), concat({b, c}, 0)}, 1)->depth(), 3);
  // A list that doubles with every step.
  ConstantRef doubled = a;
  for (int i = 0; i < 12; ++i) doubled = concat({doubled, doubled}, 0);
  EXPECT_LE(std::get<Constant::Apply>(doubled->value()).inputs.size(), 64u);
  EXPECT_EQ(doubled->type().shape[0], 2 << 12);
}

std::vector<EvalTensor> InField(absl::string_view text, absl::Span<const Tensor> inputs) {
  std::vector<EvalTensor> values;
  for (const Tensor& input : inputs) values.push_back(ToFieldTensor(input));
  auto outputs = EvaluateGraphInField(Parsed(text), values, NoWeights());
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return outputs.ok() ? *std::move(outputs) : std::vector<EvalTensor>{};
}

TEST(EvaluateInFieldTest, MeansDivideExactly) {
  // The mean of 1, 0, 0 is the inverse of 3, which no double is.
  const auto outputs =
      InField("graph {\ninput %x: float32[3]\n%y = ReduceMean(%x) {keepdims=0}\noutput %y\n}\n",
              {Floats({3}, {1, 0, 0})});
  const FieldElement third = std::get<std::vector<FieldElement>>(outputs[0].values)[0];
  EXPECT_EQ(third * FieldElement(3), FieldElement(1));
}

TEST(EvaluateInFieldTest, ConvolutionIsLinearExactly) {
  constexpr char kText[] =
      "graph {\ninput %a: float32[1,2,5,5]\ninput %b: float32[1,2,5,5]\n"
      "input %w: float32[3,2,3,3]\n%s = Add(%a, %b)\n%y = Conv(%s, %w) {pads=[1,1,1,1]}\n"
      "%ya = Conv(%a, %w) {pads=[1,1,1,1]}\n%yb = Conv(%b, %w) {pads=[1,1,1,1]}\n"
      "%z = Add(%ya, %yb)\noutput %y, %z\n}\n";
  const auto inputs = RandomInputs(Parsed(kText), 3);
  const auto outputs = InField(kText, inputs);
  EXPECT_EQ(outputs[0].values, outputs[1].values);
  EXPECT_NE(std::get<std::vector<FieldElement>>(outputs[0].values)[0], FieldElement(0));
}

TEST(EvaluateInFieldTest, WhatHasNoMeaningThereIsUnimplemented) {
  const Graph graph = Parsed("graph {\ninput %x: float32[3]\n%y = Softmax(%x)\noutput %y\n}\n");
  const absl::Status status =
      EvaluateGraphInField(graph, {ToFieldTensor(Floats({3}, {1, 2, 3}))}, NoWeights()).status();
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
}

TEST(FieldElementTest, ArithmeticWrapsAtThePrime) {
  EXPECT_EQ(FieldElement::FromInt(-1) + FieldElement(1), FieldElement(0));
  EXPECT_EQ(FieldElement(FieldElement::kPrime), FieldElement(0));
  EXPECT_EQ(FieldElement(0) - FieldElement(1), FieldElement(FieldElement::kPrime - 1));
  for (uint64_t value : {uint64_t{1}, uint64_t{2}, uint64_t{12345}, FieldElement::kPrime - 1}) {
    EXPECT_EQ(FieldElement(value).Inverse() * FieldElement(value), FieldElement(1)) << value;
  }
  EXPECT_EQ(FieldElement(0).Inverse(), FieldElement(0));
}

}  // namespace
}  // namespace plait
