#include "gpu_worker/backends/cuda/problem/expression.h"

#include <cmath>

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
