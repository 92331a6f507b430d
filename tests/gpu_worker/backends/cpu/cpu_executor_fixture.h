#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "gpu_worker/executor/compare_outputs.h"
#include "gpu_worker/executor/executor.h"
#include "gpu_worker/executor/make_inputs.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "tests/gpu_worker/executor/executor_fixture.h"

namespace plait {

// Branches that meet again, several times, so that streams have something to wait for.
inline Graph Ladder(int rungs) {
  std::string text =
      "graph {\n"
      "  input %a0: float32[1,8,10,10]\n"
      "  const %w: float32[8,8,3,3] = synthetic 1\n"
      "  %b0 = Neg(%a0)\n";
  for (int i = 0; i < rungs; ++i) {
    absl::StrAppend(&text, "  %c", i, " = Conv(%a", i,
                    ", %w) {kernel_shape=[3,3], pads=[1,1,1,1]}\n", "  %d", i, " = Tanh(%b", i,
                    ")\n",                                            //
                    "  %a", i + 1, " = Add(%c", i, ", %d", i, ")\n",  //
                    "  %s", i, " = Sigmoid(%d", i, ")\n",             //
                    "  %b", i + 1, " = Mul(%s", i, ", %c", i, ")\n");
  }
  absl::StrAppend(&text, "  output %a", rungs, ", %b", rungs, "\n}\n");
  return ParseTyped(text);
}

inline void ExpectEqualsReference(const Graph& graph, Executable* executable, int runs) {
  OutputComparer comparer(1e-4);
  for (int seed = 1; seed <= runs; ++seed) {
    const absl::StatusOr<std::vector<Tensor>> inputs = MakeInputs(graph, seed);
    ASSERT_TRUE(inputs.ok());
    const absl::StatusOr<std::vector<Tensor>> expected = EvaluateGraph(graph, *inputs, NoWeights());
    ASSERT_TRUE(expected.ok()) << expected.status();
    const absl::StatusOr<std::vector<Tensor>> actual = executable->Run(*inputs);
    ASSERT_TRUE(actual.ok()) << actual.status();
    comparer.Add(*expected, *actual);
  }
  EXPECT_EQ(comparer.Result().equivalence.verdict, Verdict::kEquivalent)
      << comparer.Result().reason;
}

class CpuExecutorTest : public ExecutorFixture {
 protected:
  absl::Status LoadStatus(const Graph& graph, const Plan& plan) const {
    return executor_->Load(graph, plan, NoWeights()).status();
  }
};

}  // namespace plait
