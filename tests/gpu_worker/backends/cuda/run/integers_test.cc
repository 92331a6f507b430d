#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "gpu_worker/backends/cuda/run/cuda_executable.h"
#include "tests/gpu_worker/backends/cuda/run/simulated_executor.h"

// What is no float: values that no float and no double holds, and every conversion, bit by bit.

namespace plait::cuda {
namespace {

constexpr int64_t kBig = (int64_t{1} << 53) + 1;  // the first that a double does not hold
constexpr float kInfinity = std::numeric_limits<float>::infinity();

constexpr int64_t kInt64s[] = {
    0,  -1,    1,         INT64_MIN,  INT64_MAX,        kBig,          kBig + 1,
    -3, -kBig, INT32_MAX, 2147483648, int64_t{1} << 32, -4294967289ll, INT64_MAX - 1};
constexpr int32_t kInt32s[] = {0, -1, 1, INT32_MIN, INT32_MAX, 16777217, -7, 1 << 30};
const float kFloats[] = {0.0F,   -0.0F, NAN,   kInfinity, -kInfinity,  2.9F,    -2.9F, 1e30F,
                         -1e30F, 0.25F, -0.5F, 1.0F,      16777216.0F, 9.5e18F, 3e9F,  -2.14748e9F};

// A tensor of awkward values, each at several places beside others.
Tensor AwkwardTensor(const TensorType& type, int64_t seed) {
  const auto pick = [&](auto& from, auto zero) {
    std::vector<decltype(zero)> values;
    for (int64_t i = 0; i < type.elements(); ++i) {
      values.push_back(from[(i * (seed + 1) + i / 5 + seed) % std::ssize(from)]);
    }
    return Tensor::Of<decltype(zero)>(type.shape, values);
  };
  switch (type.dtype) {
    case DataType::kInt64:
      return pick(kInt64s, int64_t{0});
    case DataType::kInt32:
      return pick(kInt32s, int32_t{0});
    case DataType::kFloat32:
      return pick(kFloats, 0.0F);
    case DataType::kInt16:
    case DataType::kFloat16:
    case DataType::kBfloat16:
    case DataType::kFloat64: {
      // Any bits, those of a NaN and of 0 among them.
      std::string bytes;
      for (int64_t i = 0; i < type.bytes(); ++i) {
        bytes.push_back(static_cast<char>(i % 11 < 2 ? 0 : 255 - (7 * i + 3 * seed) % 31));
      }
      return Tensor(type, bytes);
    }
    default: {
      std::vector<int64_t> values;
      for (int64_t i = 0; i < type.elements(); ++i) values.push_back((i + i / 3 + seed) % 2);
      return Tensor::FromInt64s(type, values);
    }
  }
}

class IntegersTest : public SimulatedExecutorTest {
 protected:
  void ExpectTheSameBits(const std::string& text) {
    const plait::Graph graph = Parse(text);
    const auto executable = Load(graph, PlanOf(graph));
    ASSERT_NE(executable, nullptr) << text;
    EXPECT_EQ(executable->fallback_nodes(), 0) << text;
    for (int64_t seed = 0; seed < 3; ++seed) {
      std::vector<Tensor> inputs;
      for (const TensorId input : graph.inputs()) {
        inputs.push_back(AwkwardTensor(graph.type(input), seed + std::ssize(inputs)));
      }
      const auto expected = EvaluateGraph(graph, inputs, NoWeights());
      ASSERT_TRUE(expected.ok()) << expected.status();
      const auto actual = executable->Run(inputs);
      ASSERT_TRUE(actual.ok()) << actual.status() << text;
      EXPECT_EQ(*actual, *expected) << text;
    }
  }

  void ExpectOfNode(const std::string& inputs, const std::string& node) {
    ExpectTheSameBits(absl::StrCat("graph {\n", inputs, "  %y = ", node, "\n  output %y\n}"));
  }
};

TEST_F(IntegersTest, CastsBetweenAllTypes) {
  for (const char* from : {"float32", "int64", "int32", "bool"}) {
    for (const int to : {1, 7, 6, 9}) {
      for (const char* sizes : {"[3,5,7]", "[2,64]"}) {
        ExpectOfNode(absl::StrCat("  input %x: ", from, sizes, "\n"),
                     absl::StrCat("Cast(%x) {to=", to, "}"));
      }
    }
  }
}

TEST_F(IntegersTest, ComparesAllTypes) {
  for (const char* op : {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"}) {
    for (const char* type : {"float32", "int64", "int32", "bool"}) {
      if (type == std::string("bool") && op != std::string("Equal")) continue;
      const auto inputs = [&](const char* x, const char* y) {
        return absl::StrCat("  input %a: ", type, x, "\n  input %b: ", type, y, "\n");
      };
      ExpectOfNode(inputs("[14,14]", "[14]"), absl::StrCat(op, "(%a, %b)"));
      ExpectOfNode(inputs("[3,1,5]", "[1,7,1]"), absl::StrCat(op, "(%a, %b)"));
      ExpectOfNode(inputs("[4,16]", "[]"), absl::StrCat(op, "(%b, %a)"));
    }
  }
}

// Floats on both sides of what is none.
TEST_F(IntegersTest, FloatsChooseFloats) {
  ExpectTheSameBits(R"(graph {
  input %x: float32[6,16]
  input %z: float32[16]
  %c = Greater(%x, %z) {}
  %y = Where(%c, %x, %z) {}
  output %y
})");
}

TEST_F(IntegersTest, IntegersWrapAround) {
  for (const char* op : {"Add", "Sub", "Mul", "Max", "Min"}) {
    for (const char* type : {"int64", "int32"}) {
      ExpectOfNode(absl::StrCat("  input %a: ", type, "[14,15]\n  input %b: ", type, "[15]\n"),
                   absl::StrCat(op, "(%a, %b)"));
    }
  }
}

TEST_F(IntegersTest, CombinesBools) {
  for (const char* op : {"And", "Or", "Xor"}) {
    ExpectOfNode("  input %a: bool[3,5,1]\n  input %b: bool[1,9]\n", absl::StrCat(op, "(%a, %b)"));
    ExpectOfNode("  input %a: bool[4,32]\n  input %b: bool[4,32]\n", absl::StrCat(op, "(%a, %b)"));
  }
  ExpectOfNode("  input %a: bool[3,11]\n", "Not(%a)");
}

TEST_F(IntegersTest, ChoosesBetweenAllTypes) {
  for (const char* type : {"float32", "int64", "int32", "bool"}) {
    ExpectOfNode(absl::StrCat("  input %c: bool[2,1,5]\n  input %a: ", type,
                              "[3,5]\n  input %b: ", type, "[2,1,1]\n"),
                 "Where(%c, %a, %b)");
    ExpectOfNode(absl::StrCat("  input %c: bool[4,16]\n  input %a: ", type,
                              "[4,16]\n  input %b: ", type, "[]\n"),
                 "Where(%c, %a, %b)");
  }
}

// Of the constants one is no number of the kernel language, and one no double.
TEST_F(IntegersTest, KeepsConstants) {
  ExpectTheSameBits(R"(graph {
  input %c: bool[2,5]
  input %x: int64[2,5]
  const %low: float32[] = [-inf]
  const %zero: float32[] = [0]
  const %big: int64[] = [9007199254740993]
  %y = Where(%c, %zero, %low) {}
  %z = Equal(%x, %big) {}
  %s = Add(%x, %big) {}
  output %y, %z, %s
})");
}

TEST_F(IntegersTest, MovesAllTypes) {
  for (const char* type :
       {"int64", "int32", "bool", "uint8", "int16", "float16", "bfloat16", "float64"}) {
    ExpectTheSameBits(absl::StrCat(R"(graph {
  input %x: )",
                                   type, R"([1,6,4,5]
  input %y: )",
                                   type, R"([1,3,4,5]
  const %places: int64[2,2] = [3,-1,0,5]
  const %pads: int64[8] = [0,1,1,2,0,0,3,0]
  const %start: int64[1] = [1]
  const %end: int64[1] = [-1]
  const %axis: int64[1] = [3]
  %a = Concat(%x, %y) {axis=1}
  %b, %c = Split(%x) {axis=2, num_outputs=2}
  %d = Slice(%x, %start, %end, %axis) {}
  %e = Gather(%x, %places) {axis=1}
  %f = Pad(%x, %pads) {}
  %g = Transpose(%x) {perm=[0,2,3,1]}
  %h = Transpose(%x) {perm=[2,0,1,3]}
  output %a, %b, %c, %d, %e, %f, %g, %h
})"));
  }
}

// What a kernel writes around a half is an integer of the same bits, which only 0 is.
TEST_F(IntegersTest, PadsHalvesWithZerosAlone) {
  for (const char* type : {"float16", "bfloat16"}) {
    const plait::Graph graph = Parse(absl::StrCat("graph {\n  input %x: ", type, R"([3,5]
  const %pads: int64[4] = [1,0,0,2]
  const %value: )",
                                                  type, R"([] = [1.5]
  %y = Pad(%x, %pads, %value) {}
  output %y
})"));
    const auto executable = Load(graph, PlanOf(graph));
    ASSERT_NE(executable, nullptr);
    EXPECT_EQ(executable->fallback_nodes(), 1);
    const std::vector<Tensor> inputs = {AwkwardTensor(graph.type(graph.inputs()[0]), 1)};
    const auto expected = EvaluateGraph(graph, inputs, NoWeights());
    const auto actual = executable->Run(inputs);
    ASSERT_TRUE(actual.ok()) << actual.status();
    EXPECT_EQ(*actual, *expected);
  }
}

TEST_F(IntegersTest, ExpandsAllTypes) {
  for (const char* type : {"int64", "int32", "bool"}) {
    ExpectOfNode(absl::StrCat("  input %x: ", type, "[3,1,5]\n  const %s: int64[4] = [2,3,7,1]\n"),
                 "Expand(%x, %s)");
  }
}

// BERT's mask, as it is exported: from the tokens to what is added to the scores.
TEST_F(IntegersTest, AMaskIsOneGraph) {
  const plait::Graph graph = Parse(R"(graph {
  input %tokens: int64[2,7]
  input %scores: float32[2,3,7,7]
  const %places: int64[1,1,1,7] = [0,1,2,3,4,5,6]
  const %rows: bool[1,1,7,1] = [1,1,1,0,1,1,1]
  const %flat: int64[2] = [14,1]
  const %sizes: int64[4] = [1,1,1,7]
  const %all: int64[4] = [2,1,7,7]
  const %shown: float32[] = [0]
  const %hidden: float32[] = [-1e30]
  %a = Cast(%tokens) {to=9}
  %b = Reshape(%a, %flat) {}
  %c = Gather(%b, %places) {axis=0}
  %d = Reshape(%c, %sizes) {}
  %e = And(%rows, %d) {}
  %f = Expand(%e, %all) {}
  %g = Where(%f, %shown, %hidden) {}
  %h = Add(%scores, %g) {}
  output %h
})");
  const auto executable = Load(graph, PlanOf(graph));
  ExpectEqualsReference(graph, executable.get());
  EXPECT_EQ(executable->fallback_nodes(), 0);
  EXPECT_EQ(static_cast<const CudaExecutable&>(*executable).graph_count(), 1u);
}

}  // namespace
}  // namespace plait::cuda
