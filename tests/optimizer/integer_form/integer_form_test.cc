#include "optimizer/integer_form/integer_form.h"

#include <algorithm>
#include <cstdlib>

#include <gtest/gtest.h>

#include "base/random.h"
#include "optimizer/ir/text.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "optimizer/ops/shared/op_spec.h"
#include "tests/optimizer/rules/golden_case.h"

namespace plait {
namespace {

constexpr absl::string_view kFolder = "tests/optimizer/integer_form";

std::vector<Tensor> RandomInputs(const Graph& graph, uint64_t seed) {
  Random random(seed);
  std::vector<Tensor> inputs;
  for (const TensorId input : graph.inputs()) {
    const TensorType& type = graph.type(input);
    std::vector<double> values(type.elements());
    for (double& value : values) {
      value = IsFloat(type.dtype)             ? random.Uniform(-1, 1)
              : type.dtype == DataType::kInt8 ? static_cast<double>(random.Integer(-128, 127))
                                              : static_cast<double>(random.Integer(0, 255));
    }
    inputs.push_back(Tensor::FromDoubles(type, values));
  }
  return inputs;
}

// Both graphs give integers, each at most one from the other's, and nearly all the same.
void ExpectWithinOneInteger(const Graph& before, const Graph& after) {
  for (const uint64_t seed : {11, 12, 13}) {
    const std::vector<Tensor> inputs = RandomInputs(before, seed);
    const auto expected = EvaluateGraph(before, inputs, NoWeights());
    const auto actual = EvaluateGraph(after, inputs, NoWeights());
    ASSERT_TRUE(expected.ok()) << expected.status();
    ASSERT_TRUE(actual.ok()) << actual.status();
    for (size_t i = 0; i < expected->size(); ++i) {
      ASSERT_EQ((*expected)[i].type(), (*actual)[i].type());
      const std::vector<double> a = (*expected)[i].AsDoubles();
      const std::vector<double> b = (*actual)[i].AsDoubles();
      size_t different = 0;
      for (size_t j = 0; j < a.size(); ++j) {
        ASSERT_LE(std::abs(a[j] - b[j]), 1) << "output " << i << ", element " << j;
        different += a[j] != b[j];
      }
      EXPECT_LE(different, a.size() / 50);
      EXPECT_NE(std::count(a.begin(), a.end(), a[0]), static_cast<int64_t>(a.size()))
          << "one value everywhere shows nothing";
    }
  }
}

class IntegerRuleTest : public testing::TestWithParam<const Rule*> {};

TEST_P(IntegerRuleTest, ReadsAsTheGoldenFileSaysWithinOneInteger) {
  const Rule& rule = *GetParam();
  auto cases = ReadGoldenFile(rule.name, kFolder);
  ASSERT_TRUE(cases.ok()) << cases.status();
  const bool update = std::getenv("PLAIT_UPDATE_GOLDEN") != nullptr;
  size_t matching = 0;
  for (GoldenCase& golden : *cases) {
    SCOPED_TRACE(golden.name);
    const auto before = ParseTypedGraph(golden.before);
    ASSERT_TRUE(before.ok()) << before.status();
    const auto after = IntegerForm(*before);
    ASSERT_TRUE(after.ok()) << after.status();
    const bool changed = after->fingerprint() != before->fingerprint();
    ASSERT_EQ(changed, !golden.after.empty()) << PrintGraph(*after);
    if (!changed) continue;
    ++matching;
    ExpectWithinOneInteger(*before, *after);
    if (update) {
      golden.before = PrintGraph(*before);
      golden.after = {PrintGraph(*after)};
    } else {
      const auto expected = ParseTypedGraph(golden.after[0]);
      ASSERT_TRUE(expected.ok()) << expected.status();
      EXPECT_EQ(PrintGraph(*after), PrintGraph(*expected));
    }
  }
  EXPECT_GE(matching, 2u);
  EXPECT_GT(cases->size(), matching) << "a case that must not match is missing";
  if (update && !HasFailure()) WriteGoldenFile(rule.name, *cases, kFolder);
}

INSTANTIATE_TEST_SUITE_P(All, IntegerRuleTest,
                         testing::ValuesIn(IntegerRules().begin(), IntegerRules().end()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace plait
