#include <limits>
#include <numeric>

#include "base/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/optimizer/ops/call_operator.h"

namespace plait {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// 0, 1, 2, ...
Tensor Iota(Shape shape) {
  std::vector<float> values(static_cast<size_t>(ElementsOf(shape)));
  std::iota(values.begin(), values.end(), 0.0f);
  return Floats(std::move(shape), values);
}

TEST(MovementTest, GivesTheShapesOfViews) {
  const TensorType x{DataType::kFloat32, {2, 1, 12}};
  const TensorType empty{DataType::kFloat32, {0, 3}};
  struct Row {
    Call call;
    std::string expected;
  };
  const Row rows[] = {
      {{OpKind::kIdentity, {}, {x}}, "float32[2,1,12]"},
      {{OpKind::kDropout, {}, {x}}, "float32[2,1,12]"},
      {{OpKind::kDropout, {}, {x, Tensor::ScalarFloat(0.3f)}, 2}, "float32[2,1,12] bool[2,1,12]"},
      {{OpKind::kFlatten, {}, {x}}, "float32[2,12]"},
      {{OpKind::kFlatten, {{"axis", int64_t{0}}}, {x}}, "float32[1,24]"},
      {{OpKind::kFlatten, {{"axis", int64_t{3}}}, {x}}, "float32[24,1]"},
      {{OpKind::kFlatten, {{"axis", int64_t{-1}}}, {x}}, "float32[2,12]"},
      {{OpKind::kReshape, {}, {x, Int64s({0, -1, 4})}}, "float32[2,3,4]"},
      {{OpKind::kReshape, {}, {x, Int64s({24})}}, "float32[24]"},
      {{OpKind::kReshape, {}, {Iota({1}), Int64s({})}}, "float32[]"},
      {{OpKind::kReshape, {}, {empty, Int64s({-1, 5})}}, "float32[0,5]"},
      {{OpKind::kReshape, {{"allowzero", int64_t{1}}}, {empty, Int64s({7, 0})}}, "float32[7,0]"},
      {{OpKind::kSqueeze, {}, {x}}, "float32[2,12]"},
      {{OpKind::kSqueeze, {}, {x, Int64s({-2})}}, "float32[2,12]"},
      {{OpKind::kSqueeze, {}, {x, Int64s({})}}, "float32[2,1,12]"},
      {{OpKind::kUnsqueeze, {}, {x, Int64s({0, -1})}}, "float32[1,2,1,12,1]"},
      {{OpKind::kUnsqueeze, {}, {TensorType{DataType::kInt64, {}}, Int64s({0})}}, "int64[1]"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(InferredText(row.call), row.expected) << OpKindName(row.call.op);
    EXPECT_TRUE(HasTraits(row.call.op, kView)) << OpKindName(row.call.op);
  }
}

TEST(MovementTest, KeepsTheElementsOfViews) {
  const Tensor x = Iota({2, 3});
  const std::vector<double> elements = x.AsDoubles();
  EXPECT_EQ(Doubles({OpKind::kReshape, {}, {x, Int64s({3, 2})}}), elements);
  EXPECT_EQ(Doubles({OpKind::kFlatten, {}, {x}}), elements);
  EXPECT_EQ(Doubles({OpKind::kUnsqueeze, {}, {x, Int64s({1})}}), elements);
  const Call dropout{OpKind::kDropout, {}, {x}, 2};
  EXPECT_EQ(Doubles(dropout), elements);
  EXPECT_THAT((*Evaluate(dropout))[1].AsInt64s(), Each(1));
}

TEST(MovementTest, Transposes) {
  const Tensor x = Iota({2, 3, 2});
  EXPECT_EQ(InferredText({OpKind::kTranspose, {}, {Iota({2, 3, 4})}}), "float32[4,3,2]");
  EXPECT_THAT(Doubles({OpKind::kTranspose, {}, {x}}),
              ElementsAre(0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11));
  EXPECT_THAT(Doubles({OpKind::kTranspose, {{"perm", Ints({1, 0, 2})}}, {x}}),
              ElementsAre(0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11));
}

TEST(MovementTest, Slices) {
  const Tensor line = Iota({5});
  const auto slice = [&](int64_t start, int64_t end, int64_t step) {
    return Doubles(
        {OpKind::kSlice, {}, {line, Int64s({start}), Int64s({end}), Int64s({0}), Int64s({step})}});
  };
  EXPECT_THAT(slice(1, 4, 1), ElementsAre(1, 2, 3));
  EXPECT_THAT(slice(0, kInt64Max, 2), ElementsAre(0, 2, 4));
  EXPECT_THAT(slice(-2, kInt64Max, 1), ElementsAre(3, 4));
  EXPECT_THAT(slice(-1, kInt64Min, -2), ElementsAre(4, 2, 0));
  EXPECT_THAT(slice(3, 0, -1), ElementsAre(3, 2, 1));
  EXPECT_THAT(slice(kInt64Min, kInt64Max, kInt64Max), ElementsAre(0));
  EXPECT_THAT(slice(kInt64Max, kInt64Min, kInt64Min), ElementsAre(4));
  EXPECT_THAT(slice(4, 1, 1), IsEmpty());
  EXPECT_EQ(InferredText({OpKind::kSlice, {}, {line, Int64s({4}), Int64s({1})}}), "float32[0]");
  EXPECT_THAT(Doubles({OpKind::kSlice, {}, {Iota({3, 3}), Int64s({1, 0}), Int64s({3, 2})}}),
              ElementsAre(3, 4, 6, 7));
  EXPECT_THAT(Doubles({OpKind::kSlice,
                       {},
                       {Iota({2, 3}), Int64s({1}), Int64s({-4}), Int64s({-1}), Int64s({-1})}}),
              ElementsAre(1, 0, 4, 3));
}

TEST(MovementTest, ConcatenatesAndSplits) {
  const Tensor a = Iota({2, 1});
  const Tensor b = Floats({2, 2}, {10, 11, 12, 13});
  const Call concat{OpKind::kConcat, {{"axis", int64_t{-1}}}, {a, b}};
  EXPECT_EQ(InferredText(concat), "float32[2,3]");
  EXPECT_THAT(Doubles(concat), ElementsAre(0, 10, 11, 1, 12, 13));
  EXPECT_THAT(Doubles({OpKind::kConcat, {{"axis", int64_t{0}}}, {b, Iota({0, 2}), b}}),
              ElementsAre(10, 11, 12, 13, 10, 11, 12, 13));

  const Attributes axis1 = {{"axis", int64_t{1}}};
  const Call split{OpKind::kSplit, axis1, {Iota({2, 3}), Int64s({1, 2})}, 2};
  EXPECT_EQ(InferredText(split), "float32[2,1] float32[2,2]");
  const auto parts = Evaluate(split);
  EXPECT_THAT((*parts)[0].AsDoubles(), ElementsAre(0, 3));
  EXPECT_THAT((*parts)[1].AsDoubles(), ElementsAre(1, 2, 4, 5));
  EXPECT_EQ(InferredText({OpKind::kSplit, {{"num_outputs", int64_t{3}}}, {Iota({7})}, 3}),
            "float32[3] float32[3] float32[1]");
}

TEST(MovementTest, Gathers) {
  const Tensor x = Iota({3, 2});
  const Call rows{OpKind::kGather, {}, {x, Tensor::Of<int64_t>({2, 1}, {2, -3})}};
  EXPECT_EQ(InferredText(rows), "float32[2,1,2]");
  EXPECT_THAT(Doubles(rows), ElementsAre(4, 5, 0, 1));
  const Call column{OpKind::kGather, {{"axis", int64_t{1}}}, {x, Tensor::ScalarInt64(1)}};
  EXPECT_EQ(InferredText(column), "float32[3]");
  EXPECT_THAT(Doubles(column), ElementsAre(1, 3, 5));
}

TEST(MovementTest, GathersElements) {
  const Tensor x = Iota({2, 3});
  const Call call{OpKind::kGatherElements,
                  {{"axis", int64_t{1}}},
                  {x, Tensor::Of<int64_t>({2, 2}, {2, -3, 1, 1})}};
  EXPECT_EQ(InferredText(call), "float32[2,2]");
  EXPECT_THAT(Doubles(call), ElementsAre(2, 0, 4, 4));
  EXPECT_EQ(InferredText({OpKind::kGatherElements, {}, {x, Int64s({1})}}), "INVALID_ARGUMENT");
  const Call wide{OpKind::kGatherElements, {}, {x, Tensor::Of<int64_t>({1, 4}, {0, 0, 0, 0})}};
  EXPECT_EQ(InferredText(wide), "INVALID_ARGUMENT");
}

TEST(MovementTest, GathersByTuples) {
  const Tensor x = Iota({2, 3, 2});
  const Call elements{OpKind::kGatherND, {}, {x, Tensor::Of<int64_t>({2, 3}, {0, 2, 1, 1, -3, 0})}};
  EXPECT_EQ(InferredText(elements), "float32[2]");
  EXPECT_THAT(Doubles(elements), ElementsAre(5, 6));
  const Call rows{OpKind::kGatherND, {}, {x, Tensor::Of<int64_t>({1, 2}, {1, 2})}};
  EXPECT_EQ(InferredText(rows), "float32[1,2]");
  EXPECT_THAT(Doubles(rows), ElementsAre(10, 11));
  const Call batched{OpKind::kGatherND,
                     {{"batch_dims", int64_t{1}}},
                     {x, Tensor::Of<int64_t>({2, 2, 1}, {0, -1, 1, 1})}};
  EXPECT_EQ(InferredText(batched), "float32[2,2,2]");
  EXPECT_THAT(Doubles(batched), ElementsAre(0, 1, 4, 5, 8, 9, 8, 9));
  EXPECT_EQ(InferredText({OpKind::kGatherND, {}, {x, Int64s({1, 2, 3, 4})}}), "INVALID_ARGUMENT");
  EXPECT_EQ(InferredText({OpKind::kGatherND, {}, {x, Int64s({2})}}), "INVALID_ARGUMENT");
  EXPECT_EQ(InferredText({OpKind::kGatherND, {{"batch_dims", int64_t{1}}}, {x, Int64s({0})}}),
            "INVALID_ARGUMENT");
}

TEST(MovementTest, ScattersByTuples) {
  const Tensor x = Iota({2, 3, 2});
  const Tensor pairs = Tensor::Of<int64_t>({2, 2}, {0, 2, 1, -3});
  const Tensor updates = Floats({2, 2}, {20, 21, 22, 23});
  const Call slices{OpKind::kScatterND, {}, {x, pairs, updates}};
  EXPECT_EQ(InferredText(slices), "float32[2,3,2]");
  EXPECT_THAT(Doubles(slices), ElementsAre(0, 1, 2, 3, 20, 21, 22, 23, 8, 9, 10, 11));
  const Call elements{OpKind::kScatterND,
                      {},
                      {Iota({4}), Tensor::Of<int64_t>({1, 2, 1}, {3, 0}), Floats({1, 2}, {7, 8})}};
  EXPECT_THAT(Doubles(elements), ElementsAre(8, 1, 2, 7));
  const Call nothing{
      OpKind::kScatterND, {}, {Iota({2}), Tensor::Of<int64_t>({0, 1}, {}), Floats({0}, {})}};
  EXPECT_THAT(Doubles(nothing), ElementsAre(0, 1));
}

TEST(MovementTest, ScattersByReductions) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const auto scatter = [](absl::string_view reduction, Tensor x, Tensor updates) {
    return Call{OpKind::kScatterND,
                {{"reduction", std::string(reduction)}},
                {std::move(x), Tensor::Of<int64_t>({3, 1}, {1, 1, 2}), std::move(updates)}};
  };
  const Tensor x = Floats({3}, {2, 3, 4});
  const Tensor updates = Floats({3}, {5, 2, 1});
  EXPECT_THAT(Doubles(scatter("none", x, updates)), ElementsAre(2, 2, 1));
  EXPECT_THAT(Doubles(scatter("add", x, updates)), ElementsAre(2, 10, 5));
  EXPECT_THAT(Doubles(scatter("mul", x, updates)), ElementsAre(2, 30, 4));
  EXPECT_THAT(Doubles(scatter("max", x, updates)), ElementsAre(2, 5, 4));
  EXPECT_THAT(Doubles(scatter("min", x, updates)), ElementsAre(2, 2, 1));
  EXPECT_THAT(Doubles(scatter("max", x, Floats({3}, {kNan, 2, 1}))),
              ElementsAre(2, ::testing::IsNan(), 4));
  EXPECT_THAT(Integers(scatter("add", Int64s({0, kInt64Max, 0}), Int64s({1, 0, 0}))),
              ElementsAre(0, kInt64Min, 0));
  // -1 is the largest uint64.
  EXPECT_THAT(Integers(scatter("max", OfType(DataType::kUint64, {0, 1, 2}),
                               OfType(DataType::kUint64, {-1, 0, 1}))),
              ElementsAre(0, -1, 2));
  EXPECT_EQ(Evaluate(scatter("max", x, updates), Numbers::kField).status().code(),
            absl::StatusCode::kUnimplemented);
  EXPECT_TRUE(Evaluate(scatter("mul", x, updates), Numbers::kField).ok());
}

TEST(MovementTest, ReportsAnIndexThatIsKnownOnlyWhenItRuns) {
  const EvalTensor x = ToEvalTensor(Iota({3}));
  const EvalTensor index = ToEvalTensor(Int64s({3}));
  const Attributes none;
  const std::vector<const Tensor*> unknown = {nullptr, nullptr};
  const auto outputs = RunOperator({OpKind::kGather, none, unknown}, {&x, &index}, Numbers::kReal);
  EXPECT_EQ(outputs.status().message(), "Gather: indices must be in [-3, 3), one is 3");
}

TEST(MovementTest, ExpandsAndTiles) {
  const Tensor x = Floats({2, 1}, {1, 2});
  const Call expand{OpKind::kExpand, {}, {x, Int64s({2, 1, 2})}};
  EXPECT_EQ(InferredText(expand), "float32[2,2,2]");
  EXPECT_THAT(Doubles(expand), ElementsAre(1, 1, 2, 2, 1, 1, 2, 2));
  EXPECT_EQ(InferredText({OpKind::kExpand, {}, {x, Int64s({1})}}), "float32[2,1]");
  const Call tile{OpKind::kTile, {}, {Iota({2, 2}), Int64s({2, 2})}};
  EXPECT_EQ(InferredText(tile), "float32[4,4]");
  EXPECT_THAT(Doubles(tile), ElementsAre(0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3));
  EXPECT_EQ(InferredText({OpKind::kTile, {}, {x, Int64s({0, 3})}}), "float32[0,3]");
}

TEST(MovementTest, Pads) {
  const Tensor line = Floats({3}, {1, 2, 3});
  const auto pad = [&](absl::string_view mode, int64_t begin, int64_t end) {
    return Doubles({OpKind::kPad, {{"mode", std::string(mode)}}, {line, Int64s({begin, end})}});
  };
  EXPECT_THAT(pad("constant", 1, 2), ElementsAre(0, 1, 2, 3, 0, 0));
  EXPECT_THAT(pad("constant", -1, 1), ElementsAre(2, 3, 0));
  EXPECT_THAT(pad("edge", 2, 1), ElementsAre(1, 1, 1, 2, 3, 3));
  EXPECT_THAT(pad("reflect", 2, 3), ElementsAre(3, 2, 1, 2, 3, 2, 1, 2));
  EXPECT_THAT(pad("wrap", 2, 4), ElementsAre(2, 3, 1, 2, 3, 1, 2, 3, 1));
  const Call last_axis{
      OpKind::kPad, {}, {Iota({2, 1}), Int64s({1, 0}), Tensor::ScalarFloat(9), Int64s({-1})}};
  EXPECT_EQ(InferredText(last_axis), "float32[2,2]");
  EXPECT_THAT(Doubles(last_axis), ElementsAre(9, 0, 9, 1));
}

TEST(MovementTest, Casts) {
  const auto cast = [](const Tensor& x, DataType to) {
    return (*Evaluate({OpKind::kCast, {{"to", static_cast<int64_t>(to)}}, {x}}))[0];
  };
  const Tensor floats = Floats({4}, {-1.5, 0, 2.9f, 1e20f});
  EXPECT_THAT(cast(floats, DataType::kInt64).AsInt64s(), ElementsAre(-1, 0, 2, kInt64Max));
  EXPECT_THAT(cast(floats, DataType::kUint8).AsInt64s(), ElementsAre(0, 0, 2, 255));
  EXPECT_THAT(cast(floats, DataType::kInt8).AsInt64s(), ElementsAre(-1, 0, 2, 127));
  EXPECT_THAT(cast(floats, DataType::kBool).AsInt64s(), ElementsAre(1, 0, 1, 1));
  EXPECT_THAT(cast(Int64s({200, -1, 256}), DataType::kInt8).AsInt64s(), ElementsAre(-56, -1, 0));
  EXPECT_THAT(cast(Int64s({256, 0}), DataType::kBool).AsInt64s(), ElementsAre(1, 0));
  EXPECT_THAT(cast(OfType(DataType::kUint64, {-1}), DataType::kFloat64).AsDoubles(),
              ElementsAre(0x1.0p64));
  EXPECT_THAT(cast(Floats({1}, {0.1f}), DataType::kFloat16).AsDoubles(),
              ElementsAre(0.0999755859375));
  // Rounding to double first would give 0x1p60.
  EXPECT_THAT(
      cast(Int64s({(int64_t{1} << 60) + (int64_t{1} << 36) + 1}), DataType::kFloat32).AsDoubles(),
      ElementsAre(0x1.0p60 + 0x1.0p37));
}

TEST(MovementTest, ComputesShapesAndFills) {
  const TensorType x{DataType::kFloat32, {2, 3, 4}};
  const auto shape = [&](Attributes attributes) {
    return Integers({OpKind::kShape, std::move(attributes), {Iota({2, 3, 4})}});
  };
  EXPECT_THAT(shape({}), ElementsAre(2, 3, 4));
  EXPECT_THAT(shape({{"start", int64_t{-1}}}), ElementsAre(4));
  EXPECT_THAT(shape({{"start", int64_t{1}}, {"end", int64_t{-1}}}), ElementsAre(3));
  EXPECT_THAT(shape({{"start", kInt64Min}, {"end", kInt64Max}}), ElementsAre(2, 3, 4));
  EXPECT_EQ(InferredText({OpKind::kShape, {{"end", int64_t{-9}}}, {x}}), "int64[0]");
  EXPECT_EQ(InferredText({OpKind::kSize, {}, {x}}), "int64[]");
  EXPECT_THAT(Integers({OpKind::kSize, {}, {Iota({2, 3})}}), ElementsAre(6));

  EXPECT_THAT(Doubles({OpKind::kConstantOfShape, {}, {Int64s({2})}}), ElementsAre(0, 0));
  const Call sevens{OpKind::kConstantOfShape, {{"value", Int64s({7})}}, {Int64s({1, 2})}};
  EXPECT_EQ(InferredText(sevens), "int64[1,2]");
  EXPECT_THAT(Integers(sevens), ElementsAre(7, 7));

  const auto range = [](double start, double limit, double delta) {
    const auto scalar = [](double value) { return Tensor::ScalarFloat(static_cast<float>(value)); };
    return Doubles({OpKind::kRange, {}, {scalar(start), scalar(limit), scalar(delta)}});
  };
  EXPECT_THAT(range(3, 9, 3), ElementsAre(3, 6));
  EXPECT_THAT(range(10, 4, -2.5), ElementsAre(10, 7.5, 5));
  EXPECT_THAT(range(1, 0, 1), IsEmpty());
  EXPECT_THAT(Integers({OpKind::kRange, {}, {Int64s({5}), Int64s({-1}), Int64s({-4})}}),
              ElementsAre(5, 1));
}

TEST(MovementTest, SumsSelectsAndCutsTriangles) {
  const Tensor x = Floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto sum = [&](int64_t axis, int64_t exclusive, int64_t reverse) {
    return Doubles({OpKind::kCumSum,
                    {{"exclusive", exclusive}, {"reverse", reverse}},
                    {x, Tensor::ScalarInt64(axis)}});
  };
  EXPECT_THAT(sum(0, 0, 0), ElementsAre(1, 2, 3, 5, 7, 9));
  EXPECT_THAT(sum(-1, 0, 0), ElementsAre(1, 3, 6, 4, 9, 15));
  EXPECT_THAT(sum(1, 1, 0), ElementsAre(0, 1, 3, 0, 4, 9));
  EXPECT_THAT(sum(1, 0, 1), ElementsAre(6, 5, 3, 15, 11, 6));
  EXPECT_THAT(sum(1, 1, 1), ElementsAre(5, 3, 0, 11, 6, 0));

  const Call where{OpKind::kWhere, {}, {Bools({2, 1}, {1, 0}), Iota({2}), Floats({}, {9})}};
  EXPECT_EQ(InferredText(where), "float32[2,2]");
  EXPECT_THAT(Doubles(where), ElementsAre(0, 1, 9, 9));

  const auto trilu = [&](int64_t upper, int64_t k) {
    return Doubles({OpKind::kTrilu, {{"upper", upper}}, {x, Tensor::ScalarInt64(k)}});
  };
  EXPECT_THAT(trilu(1, 0), ElementsAre(1, 2, 3, 0, 5, 6));
  EXPECT_THAT(trilu(1, 1), ElementsAre(0, 2, 3, 0, 0, 6));
  EXPECT_THAT(trilu(0, 0), ElementsAre(1, 0, 0, 4, 5, 0));
  EXPECT_THAT(trilu(0, -1), ElementsAre(0, 0, 0, 4, 0, 0));
  EXPECT_THAT(trilu(0, kInt64Max), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(trilu(1, kInt64Max), Each(0));
}

TEST(MovementTest, MovesFieldElementsAndIntegersAsFloats) {
  const Tensor x = Iota({2, 3});
  const Tensor integers = Tensor::Of<int64_t>({2, 3}, {0, 1, 2, 3, 4, 5});
  const auto zero = Tensor::ScalarInt64(0);
  const std::vector<std::pair<Call, Call>> pairs = [&] {
    std::vector<std::pair<Call, Call>> calls;
    const auto add = [&](OpKind op, Attributes attributes, std::vector<Argument> rest) {
      Call on_floats{op, attributes, {x}};
      Call on_integers{op, attributes, {integers}};
      for (const Argument& argument : rest) {
        on_floats.arguments.push_back(argument);
        on_integers.arguments.push_back(argument);
      }
      calls.push_back({on_floats, on_integers});
    };
    add(OpKind::kTranspose, {}, {});
    add(OpKind::kSlice, {}, {Int64s({1}), Int64s({9}), Int64s({1})});
    add(OpKind::kGather, {}, {Int64s({1, 0})});
    add(OpKind::kPad, {}, {Int64s({1, 0, 0, 1})});
    add(OpKind::kTile, {}, {Int64s({2, 1})});
    add(OpKind::kExpand, {}, {Int64s({2, 2, 3})});
    add(OpKind::kConcat, {{"axis", int64_t{0}}}, {});
    add(OpKind::kCumSum, {}, {zero});
    add(OpKind::kTrilu, {}, {});
    add(OpKind::kReshape, {}, {Int64s({6})});
    return calls;
  }();
  for (const auto& [on_floats, on_integers] : pairs) {
    const std::vector<double> expected = Doubles(on_floats);
    const std::vector<int64_t> moved = Integers(on_integers);
    EXPECT_EQ(std::vector<double>(moved.begin(), moved.end()), expected)
        << OpKindName(on_floats.op);
    const auto in_field = Evaluate(on_floats, Numbers::kField);
    ASSERT_TRUE(in_field.ok()) << in_field.status();
    const auto& elements = std::get<std::vector<FieldElement>>((*in_field)[0].values);
    std::vector<double> representatives;
    for (FieldElement element : elements) {
      representatives.push_back(static_cast<double>(element.value()));
    }
    EXPECT_EQ(representatives, expected) << OpKindName(on_floats.op);
  }
}

}  // namespace
}  // namespace plait
