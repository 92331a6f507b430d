#include "gpu_worker/backends/cuda/problem/expression.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace plait::cuda {
namespace {

TEST(ExpressionTest, Evaluates) {
  const auto expression = Expression::Parse("relu(add(x0, mul(x1,-0.5)))", 2);
  ASSERT_TRUE(expression.ok());
  EXPECT_DOUBLE_EQ(expression.value().Evaluate({3, 2}), 2);
  EXPECT_DOUBLE_EQ(expression.value().Evaluate({0, 2}), 0);
  EXPECT_EQ(expression.value().operations(), 3);
  EXPECT_FALSE(expression.value().needs_positive_inputs());
}

TEST(ExpressionTest, KnowsEveryFunctionAtAPoint) {
  const struct {
    const char* text;
    double value;
  } cases[] = {
      {"sub(x0,x1)", -1.5},
      {"div(x0,x1)", 0.25},
      {"max(x0,x1)", 2},
      {"min(x0,x1)", 0.5},
      {"pow(x1,3)", 8},
      {"neg(x0)", -0.5},
      {"exp(x0)", std::exp(0.5)},
      {"log(x0)", std::log(0.5)},
      {"sqrt(x1)", std::sqrt(2.0)},
      {"rsqrt(x1)", 1 / std::sqrt(2.0)},
      {"erf(x0)", std::erf(0.5)},
      {"tanh(x0)", std::tanh(0.5)},
      {"abs(neg(x0))", 0.5},
      {"clip(x1,-1,1.25)", 1.25},
      {"sigmoid(x0)", 0.6224593312},
      {"silu(x0)", 0.3112296656},
      {"gelu(x0)", 0.3457312307},
      {"gelu_tanh(x0)", 0.3457140121},
  };
  for (const auto& c : cases) {
    const auto expression = Expression::Parse(c.text, 2);
    ASSERT_TRUE(expression.ok()) << c.text;
    EXPECT_NEAR(expression.value().Evaluate({0.5, 2}), c.value, 1e-7) << c.text;
  }
}

TEST(ExpressionTest, NaNStaysNaN) {
  for (const char* text : {"relu(x0)", "max(x0,x1)", "max(x1,x0)", "min(x0,x1)", "min(x1,x0)",
                           "clip(x0,-1,1)", "abs(x0)"}) {
    EXPECT_TRUE(std::isnan(Expression::Parse(text, 2).value().Evaluate({NAN, 1}))) << text;
  }
  for (const Activation activation : {Activation::kRelu, Activation::kRelu6}) {
    EXPECT_TRUE(std::isnan(Activate(activation, NAN)));
  }
}

TEST(ExpressionTest, WritesSource) {
  const auto expression = Expression::Parse("max(div(x0,x1),2)", 2);
  ASSERT_TRUE(expression.ok());
  EXPECT_EQ(expression.value().Source(), "Maximum((x0 / x1), static_cast<float>(2.000000000e+00))");
  EXPECT_TRUE(expression.value().needs_positive_inputs());
}

constexpr ElementType kFloat = ElementType::kFloat, kInt64 = ElementType::kInt64,
                      kInt32 = ElementType::kInt32, kBool = ElementType::kBool;

TEST(ExpressionTest, EveryFunctionOfIntegersAndBools) {
  const struct {
    const char* text;
    std::vector<ElementType> types;
    std::vector<double> inputs;
    double value;
    ElementType type;
    const char* source;
  } cases[] = {
      {"add(x0,x1)", {kInt64, kInt64}, {3, -5}, -2, kInt64, "Sum(x0, x1)"},
      {"sub(x0,x1)", {kInt32, kInt32}, {3, -5}, 8, kInt32, "Difference(x0, x1)"},
      {"mul(x0,x1)", {kInt64, kInt64}, {3, -5}, -15, kInt64, "Product(x0, x1)"},
      {"max(x0,x1)", {kInt64, kInt64}, {3, -5}, 3, kInt64, "Larger(x0, x1)"},
      {"min(x0,x1)", {kInt64, kInt64}, {3, -5}, -5, kInt64, "Smaller(x0, x1)"},
      {"equal(x0,x1)", {kBool, kBool}, {1, 0}, 0, kBool, "(x0 == x1)"},
      {"less(x0,x1)", {kInt64, kInt64}, {-5, 3}, 1, kBool, "(x0 < x1)"},
      {"less_or_equal(x0,x1)", {kFloat, kFloat}, {3, 3}, 1, kBool, "(x0 <= x1)"},
      {"greater(x0,x1)", {kInt32, kInt32}, {3, 3}, 0, kBool, "(x0 > x1)"},
      {"greater_or_equal(x0,x1)", {kInt64, kInt64}, {3, 3}, 1, kBool, "(x0 >= x1)"},
      {"equal(x0,x0)", {kFloat}, {NAN}, 0, kBool, "(x0 == x0)"},
      {"and(x0,x1)", {kBool, kBool}, {1, 0}, 0, kBool, "(x0 && x1)"},
      {"or(x0,x1)", {kBool, kBool}, {1, 0}, 1, kBool, "(x0 || x1)"},
      {"xor(x0,x1)", {kBool, kBool}, {1, 1}, 0, kBool, "(x0 != x1)"},
      {"not(x0)", {kBool}, {0}, 1, kBool, "Not(x0)"},
      {"where(x0,x1,x2)", {kBool, kInt64, kInt64}, {0, 7, 8}, 8, kInt64, "Choose(x0, x1, x2)"},
      {"where(x0,x1,0)",
       {kBool, kFloat},
       {1, NAN},
       NAN,
       kFloat,
       "Choose(x0, x1, static_cast<float>(0.000000000e+00))"},
      {"float(x0)", {kInt64}, {-7}, -7, kFloat, "CastToFloat(x0)"},
      {"int64(x0)", {kFloat}, {-7.9}, -7, kInt64, "CastToInt64(x0)"},
      {"int64(x0)", {kFloat}, {NAN}, 0, kInt64, "CastToInt64(x0)"},
      {"int32(x0)", {kFloat}, {3e9}, 2147483647, kInt32, "CastToInt32(x0)"},
      {"int32(x0)", {kFloat}, {-3e9}, -2147483648.0, kInt32, "CastToInt32(x0)"},
      {"bool(x0)", {kFloat}, {NAN}, 1, kBool, "CastToBool(x0)"},
      {"bool(x0)", {kInt64}, {-2}, 1, kBool, "CastToBool(x0)"},
  };
  for (const auto& c : cases) {
    const auto expression = Expression::Parse(c.text, c.types);
    ASSERT_TRUE(expression.ok()) << c.text;
    const double value = expression.value().Evaluate(c.inputs);
    EXPECT_TRUE(value == c.value || (std::isnan(value) && std::isnan(c.value)))
        << c.text << " gives " << value;
    EXPECT_EQ(expression.value().type(), c.type) << c.text;
    EXPECT_EQ(expression.value().Source(), c.source) << c.text;
  }
}

TEST(ExpressionTest, RefusesArgumentsOfOtherTypes) {
  const std::vector<ElementType> types = {kFloat, kInt64, kInt32, kBool};
  for (const char* text :
       {"add(x0,x1)", "add(x1,x2)", "add(x3,x3)", "div(x1,x1)", "exp(x1)", "relu(x3)", "neg(x2)",
        "equal(x0,x1)", "less(x1,0)", "and(x3,x1)", "not(x1)", "where(x1,x0,x0)", "where(x3,x0,x1)",
        "where(x3,x1,1)", "clip(x1,0,1)", "int64(x4)", "float64(x0)"}) {
    EXPECT_FALSE(Expression::Parse(text, types).ok()) << text;
  }
}

TEST(ExpressionTest, RefusesHostileText) {
  const std::string deep = [] {
    std::string text;
    for (int i = 0; i < 100; ++i) text += "neg(";
    return text + "x0" + std::string(100, ')');
  }();
  for (const std::string& text :
       {std::string(), std::string("x2"), std::string("x0 x1"), std::string("add(x0)"),
        std::string("add(x0,x1,x0)"), std::string("system(x0)"),
        std::string("x99999999999999999999"), std::string("add(x0,x1"), std::string("1e999"),
        std::string("nan"), std::string("x0;"), deep}) {
    EXPECT_FALSE(Expression::Parse(text, 2).ok()) << text;
  }
}

}  // namespace
}  // namespace plait::cuda
