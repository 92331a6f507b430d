// Attention of few queries, which reads keys and values where they lie and cuts long ones into
// parts, beside attention of many, which packs them and has whole rows of scores.
#include <cmath>

#include <gtest/gtest.h>

#include "absl/strings/substitute.h"
#include "tests/gpu_worker/backends/cpu/cpu_executor_fixture.h"
#include "tests/gpu_worker/backends/cpu/random_numbers.h"
#include "tests/gpu_worker/backends/cpu/special_numbers.h"

namespace plait {
namespace {

constexpr int kHeadSize = 24;
// More than any that count as few.
constexpr int kManyQueries = 64;

// One head: a query, keys, values and what is added to their scores.
struct AttentionNumbers {
  explicit AttentionNumbers(int key_count)
      : query(RandomNumbers(kHeadSize, 1)),
        keys(RandomNumbers(key_count * kHeadSize, 2)),
        values(RandomNumbers(key_count * kHeadSize, 3)),
        mask(RandomNumbers(key_count, 4)) {}

  std::vector<float> query;
  std::vector<float> keys;
  std::vector<float> values;
  std::vector<float> mask;
};

// Attention is offered from AVX2 on, and runs on any processor.
class AttentionFixture : public ExecutorFixture {
 protected:
  void SetUp() override {
    ExecutorFixture::SetUp();
    DeviceDescription device = executor_->device();
    device.instruction_set = "avx2";
    absl::StatusOr<std::unique_ptr<KernelCatalog>> catalog = CatalogFor(device);
    ASSERT_TRUE(catalog.ok()) << catalog.status();
    catalog_ = *std::move(catalog);
  }
};

class FewQueriesTest : public AttentionFixture, public testing::WithParamInterface<int> {
 protected:
  // Attention as a node, or written out as products and a Softmax.
  Graph GraphOf(int queries, bool written_out) const {
    const char* const text = written_out ? R"(graph {
  input %q: float32[1,1,$0,$2]
  input %k: float32[1,1,$1,$2]
  input %v: float32[1,1,$1,$2]
  input %m: float32[1,$1]
  %t = Transpose(%k) {perm=[0,1,3,2]}
  %s = MatMul(%q, %t)
  %a = Add(%s, %m)
  %w = Softmax(%a) {axis=-1}
  %y = MatMul(%w, %v)
  output %y
})"
                                         : R"(graph {
  input %q: float32[1,1,$0,$2]
  input %k: float32[1,1,$1,$2]
  input %v: float32[1,1,$1,$2]
  input %m: float32[1,$1]
  %y = Attention(%q, %k, %v, %m) {scale=1.0}
  output %y
})";
    return ParseTyped(absl::Substitute(text, queries, GetParam(), kHeadSize));
  }

  // The first row of the result where the query is repeated so often.
  std::vector<float> RowOf(const AttentionNumbers& numbers, int queries, bool written_out) const {
    const Graph graph = GraphOf(queries, written_out);
    std::vector<NodeId> nodes;
    for (NodeId node = 0; node < graph.node_count(); ++node) nodes.push_back(node);
    std::vector<float> query;
    for (int row = 0; row < queries; ++row) {
      query.insert(query.end(), numbers.query.begin(), numbers.query.end());
    }
    const std::vector<Tensor> inputs = {
        Tensor::Of<float>({1, 1, queries, kHeadSize}, query),
        Tensor::Of<float>({1, 1, GetParam(), kHeadSize}, numbers.keys),
        Tensor::Of<float>({1, 1, GetParam(), kHeadSize}, numbers.values),
        Tensor::Of<float>({1, GetParam()}, numbers.mask)};
    for (const Kernel& kernel : catalog_->KernelsAt(graph, 0, true)) {
      if (kernel.family != "attention" || kernel.nodes != nodes) continue;
      const auto executable = executor_->LoadKernel(graph, kernel, NoWeights());
      EXPECT_TRUE(executable.ok()) << executable.status();
      if (!executable.ok()) return {};
      const absl::StatusOr<std::vector<Tensor>> outputs = (*executable)->Run(inputs);
      EXPECT_TRUE(outputs.ok()) << outputs.status();
      if (!outputs.ok()) return {};
      std::vector<float> row;
      for (int i = 0; i < kHeadSize; ++i) row.push_back((*outputs)[0].at<float>(i));
      return row;
    }
    ADD_FAILURE() << "no kernel";
    return {};
  }

  void ExpectFewAreAsMany(const AttentionNumbers& numbers) const {
    for (const bool written_out : {false, true}) {
      SCOPED_TRACE(written_out ? "written out" : "Attention");
      const std::vector<float> many = RowOf(numbers, kManyQueries, written_out);
      for (const int queries : {1, 2, 3, 8}) {
        const std::vector<float> few = RowOf(numbers, queries, written_out);
        ASSERT_EQ(few.size(), many.size());
        for (size_t i = 0; i < few.size(); ++i) {
          if (std::isfinite(many[i])) {
            EXPECT_NEAR(few[i], many[i], 1e-5) << queries << " queries, place " << i;
          } else {
            EXPECT_EQ(std::isnan(few[i]), std::isnan(many[i])) << queries << ", " << i;
            EXPECT_TRUE(std::isnan(many[i]) || few[i] == many[i]) << queries << ", " << i;
          }
        }
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Keys, FewQueriesTest, testing::Values(1, 7, 256, 257, 600));

TEST_P(FewQueriesTest, OrdinaryNumbers) { ExpectFewAreAsMany(AttentionNumbers(GetParam())); }

TEST_P(FewQueriesTest, KeysThatAreMasked) {
  AttentionNumbers numbers(GetParam());
  // The first part is masked as a whole, but not all parts are.
  std::fill_n(numbers.mask.begin(), GetParam() - 1 - GetParam() / 3, -kInfinity);
  ExpectFewAreAsMany(numbers);
}

TEST_P(FewQueriesTest, AQueryThatSeesNoKey) {
  AttentionNumbers numbers(GetParam());
  std::fill(numbers.mask.begin(), numbers.mask.end(), -kInfinity);
  ExpectFewAreAsMany(numbers);
  EXPECT_EQ(RowOf(numbers, 1, false), std::vector<float>(kHeadSize, 0.0f));
  EXPECT_TRUE(std::isnan(RowOf(numbers, 1, true)[0]));
  // What is hidden may be anything but a value.
  numbers.keys[0] = kNan;
  ExpectFewAreAsMany(numbers);
  EXPECT_EQ(RowOf(numbers, 1, false), std::vector<float>(kHeadSize, 0.0f));
  numbers.values[3] = kInfinity;
  ExpectFewAreAsMany(numbers);
  EXPECT_TRUE(std::isnan(RowOf(numbers, 1, false)[3]));
}

TEST_P(FewQueriesTest, NaNsAndInfinitiesOfKeys) {
  for (const float special : {kNan, kInfinity, -kInfinity}) {
    for (const int place : {0, GetParam() - 1}) {
      AttentionNumbers numbers(GetParam());
      numbers.keys[place * kHeadSize + 5] = special;
      ExpectFewAreAsMany(numbers);
      numbers.mask[place] = -kInfinity;
      ExpectFewAreAsMany(numbers);
    }
  }
}

TEST_P(FewQueriesTest, NaNsAndInfinitiesOfValues) {
  for (const float special : {kNan, kInfinity, -kInfinity}) {
    for (const int place : {0, GetParam() - 1}) {
      AttentionNumbers numbers(GetParam());
      numbers.values[place * kHeadSize + 5] = special;
      ExpectFewAreAsMany(numbers);
      numbers.mask[place] = -kInfinity;
      ExpectFewAreAsMany(numbers);
    }
  }
}

// Weights of one part count nothing beside those of another.
TEST_P(FewQueriesTest, ScoresFarApart) {
  AttentionNumbers numbers(GetParam());
  numbers.mask[0] = 300;
  ExpectFewAreAsMany(numbers);
  numbers.mask[GetParam() - 1] = 3e38f;
  ExpectFewAreAsMany(numbers);
}

// A sum of values is beyond all floats; what weighs them is not.
TEST_P(FewQueriesTest, LargeValues) {
  AttentionNumbers numbers(GetParam());
  std::fill(numbers.values.begin(), numbers.values.end(), 2e38f);
  const std::vector<float> row = RowOf(numbers, 1, false);
  for (const float y : row) EXPECT_NEAR(y, 2e38f, 1e33f);
}

using FewQueriesKeysTest = AttentionFixture;

// A stranger's plan may ask for what nobody offers.
TEST_F(FewQueriesKeysTest, AttentionToNoKeysIsRefused) {
  const auto graph_of = [](int keys) {
    return ParseTyped(absl::Substitute(R"(graph {
  input %q: float32[1,1,2,8]
  input %k: float32[1,1,8,$0]
  input %v: float32[1,1,$0,8]
  %s = MatMul(%q, %k)
  %w = Softmax(%s) {axis=-1}
  %y = MatMul(%w, %v)
  output %y
})",
                                       keys));
  };
  const Graph graph = graph_of(5);
  for (const Kernel& kernel : catalog_->KernelsAt(graph, 0, true)) {
    if (kernel.family != "attention") continue;
    EXPECT_TRUE(executor_->LoadKernel(graph, kernel, NoWeights()).ok());
    EXPECT_FALSE(executor_->LoadKernel(graph_of(0), kernel, NoWeights()).ok());
    return;
  }
  FAIL() << "no kernel";
}

using FewQueriesWidthTest = AttentionFixture;

TEST_F(FewQueriesWidthTest, ResultsAreTheSameOnAnyNumberOfThreads) {
  for (const int keys : {200, 1031}) {
    const Graph graph = ParseTyped(absl::Substitute(R"(graph {
  input %q: float32[1,6,2,32]
  input %k: float32[1,1,$0,32]
  input %v: float32[1,1,$0,40]
  %y = Attention(%q, %k, %v)
  output %y
})",
                                                    keys));
    const absl::StatusOr<std::vector<Tensor>> inputs = MakeInputs(graph, 1, 1);
    ASSERT_TRUE(inputs.ok()) << inputs.status();
    Kernel kernel = catalog_->KernelsAt(graph, 0, false).front();
    ASSERT_EQ(kernel.family, "attention");
    std::vector<Tensor> outputs;
    for (kernel.width = 1; kernel.width <= executor_->device().threads; ++kernel.width) {
      const auto executable = executor_->LoadKernel(graph, kernel, NoWeights());
      ASSERT_TRUE(executable.ok()) << executable.status();
      for (int run = 0; run < 5; ++run) {
        const absl::StatusOr<std::vector<Tensor>> actual = (*executable)->Run(*inputs);
        ASSERT_TRUE(actual.ok()) << actual.status();
        outputs.push_back((*actual)[0]);
        ASSERT_EQ(outputs.back().bytes(), outputs[0].bytes()) << "width " << kernel.width;
      }
    }
  }
}

}  // namespace
}  // namespace plait
