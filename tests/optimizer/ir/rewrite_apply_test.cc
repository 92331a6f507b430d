#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "optimizer/ir/rewrite.h"
#include "tests/optimizer/ir/graphs.h"

namespace plait {
namespace {

using testing::HasSubstr;

constexpr char kChain[] = R"(  %a: float32[4] = Relu(%x) {}
  %b: float32[4] = Relu(%a) {}
  %y: float32[4] = Neg(%b) {}
  output %y
)";

std::string Applied(const Graph& graph, const Rewrite& rewrite) {
  const absl::StatusOr<Graph> result = Apply(graph, rewrite);
  return result.ok() ? PrintGraph(*result) : result.status().ToString();
}

TEST(ApplyTest, ReplacesANodeByAnotherTensor) {
  const Graph graph = GraphOf(AroundX(kChain));
  const Rewrite rewrite = Rewrite::Replace(graph, 1, graph.node(1).inputs[0]);
  EXPECT_EQ(Applied(graph, rewrite), AroundX(R"(  %a: float32[4] = Relu(%x) {}
  %y: float32[4] = Neg(%a) {}
  output %y
)"));
}

TEST(ApplyTest, ANewTensorTakesOverTheNameAndThePlaceOfTheOldOne) {
  const Graph graph = GraphOf(AroundX(kChain));
  const TensorId fresh = graph.tensor_count();
  Rewrite rewrite;
  rewrite.removed = {1};
  rewrite.constants = {Constant::OfTensor(Tensor::Of<float>({4}, {1, 2, 3, 4}))};
  rewrite.added = {
      {.op = OpKind::kMul, .inputs = {Find(graph, "a"), fresh}, .output_types = {kFloats}}};
  rewrite.rewired = {{Find(graph, "b"), fresh + 1}};
  EXPECT_EQ(Applied(graph, rewrite), R"(graph {
  input %x: float32[4]
  const %t0: float32[4] = [1,2,3,4]
  %a: float32[4] = Relu(%x) {}
  %b: float32[4] = Mul(%a, %t0) {}
  %y: float32[4] = Neg(%b) {}
  output %y
}
)");
}

TEST(ApplyTest, DropsWhatBecomesDead) {
  const Graph graph = GraphOf(AroundX(kChain));
  const Rewrite rewrite = Rewrite::Replace(graph, 1, Find(graph, "x"));
  EXPECT_EQ(Applied(graph, rewrite), AroundX(R"(  %y: float32[4] = Neg(%x) {}
  output %y
)"));
}

TEST(ApplyTest, AnOutputThatIsRewiredKeepsItsName) {
  const Graph graph = GraphOf(AroundX(kChain));
  const Rewrite rewrite = Rewrite::Replace(graph, 2, Find(graph, "a"));
  EXPECT_EQ(Applied(graph, rewrite), AroundX(R"(  %y: float32[4] = Relu(%x) {}
  output %y
)"));
}

TEST(ApplyTest, AnOutputRewiredToAnInputLeavesTheInputsName) {
  const Graph graph = GraphOf(AroundX("  %y: float32[4] = Identity(%x) {}\n  output %y\n"));
  const Rewrite rewrite = Rewrite::Replace(graph, 0, Find(graph, "x"));
  EXPECT_EQ(Applied(graph, rewrite), AroundX("  output %x\n"));
}

TEST(ApplyTest, TwoOutputsRewiredToOneTensorShareTheFirstName) {
  const Graph graph = GraphOf(AroundX(R"(  %a: float32[4] = Relu(%x) {}
  %b: float32[4] = Relu(%x) {}
  output %a, %b
)"));
  const Rewrite rewrite = Rewrite::Replace(graph, 1, Find(graph, "a"));
  EXPECT_EQ(Applied(graph, rewrite), AroundX(R"(  %a: float32[4] = Relu(%x) {}
  output %a, %a
)"));
}

TEST(ApplyTest, WrapsATensorWithoutRewiringTheWrapper) {
  const Graph graph = GraphOf(AroundX("  %y: float32[4] = Relu(%x) {}\n  output %y\n"));
  Rewrite rewrite;
  rewrite.added = {{.op = OpKind::kNeg, .inputs = {Find(graph, "y")}, .output_types = {kFloats}}};
  rewrite.rewired = {{Find(graph, "y"), graph.tensor_count()}};
  EXPECT_EQ(Applied(graph, rewrite), AroundX(R"(  %t0: float32[4] = Relu(%x) {}
  %y: float32[4] = Neg(%t0) {}
  output %y
)"));
}

TEST(ApplyTest, ReplacesSeveralNodesByOneWithSeveralOutputs) {
  const Graph graph = GraphOf(AroundX(R"(  %a: float32[2] = Relu(%x) {}
  %b: float32[2] = Neg(%x) {}
  %c: float32[4] = Concat(%b, %a) {axis=0}
  output %c, %a
)"));
  const TensorType half{DataType::kFloat32, {2}};
  const TensorId fresh = graph.tensor_count();
  Rewrite rewrite;
  rewrite.removed = {0, 1};
  rewrite.added = {{.op = OpKind::kSplit,
                    .attributes = MakeAttributes({{"num_outputs", 2}}),
                    .inputs = {Find(graph, "x"), kNoTensor},
                    .output_types = {half, half}}};
  rewrite.rewired = {{Find(graph, "a"), fresh}, {Find(graph, "b"), fresh + 1}};
  EXPECT_EQ(Applied(graph, rewrite),
            AroundX(R"(  %a: float32[2], %b: float32[2] = Split(%x, _) {num_outputs=2}
  %c: float32[4] = Concat(%b, %a) {axis=0}
  output %c, %a
)"));
}

TEST(ApplyTest, SortsNewNodesBehindWhatTheyRead) {
  // The new node stands where %a stood, but reads %b, which comes later.
  const Graph graph = GraphOf(AroundX(R"(  %a: float32[4] = Relu(%x) {}
  %b: float32[4] = Neg(%x) {}
  %c: float32[4] = Add(%a, %b) {}
  output %c
)"));
  Rewrite rewrite;
  rewrite.removed = {0};
  rewrite.added = {{.op = OpKind::kAbs, .inputs = {Find(graph, "b")}, .output_types = {kFloats}}};
  rewrite.rewired = {{Find(graph, "a"), graph.tensor_count()}};
  EXPECT_EQ(Applied(graph, rewrite), AroundX(R"(  %b: float32[4] = Neg(%x) {}
  %a: float32[4] = Abs(%b) {}
  %c: float32[4] = Add(%a, %b) {}
  output %c
)"));
}

TEST(ApplyTest, RefusesACycleAndNamesANode) {
  const Graph graph = GraphOf(AroundX(kChain));
  Rewrite rewrite;
  rewrite.rewired = {{Find(graph, "a"), Find(graph, "b")}};
  const absl::Status status = Apply(graph, rewrite).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("Relu of %b: depends on itself"));
}

TEST(ApplyTest, RefusesAReplacementOfAnotherType) {
  const Graph graph = GraphOf(AroundX(R"(  %y: float32[2] = Relu(%x) {}
  output %y
)"));
  const absl::Status status = Apply(graph, Rewrite::Replace(graph, 0, 0)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("%y is float32[2]"));
}

TEST(ApplyTest, RefusesToRemoveWhatIsStillRead) {
  const Graph graph = GraphOf(AroundX(kChain));
  Rewrite rewrite;
  rewrite.removed = {0};
  absl::Status status = Apply(graph, rewrite).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("producer of %a, which Relu still reads"));
  rewrite.removed = {2};
  status = Apply(graph, rewrite).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("%y, a graph output"));
}

TEST(ApplyTest, RefusesIdsThatDoNotExist) {
  const Graph graph = GraphOf(AroundX(kChain));
  std::vector<Rewrite> rewrites(6);
  rewrites[0].removed = {3};
  rewrites[1].removed = {-1};
  rewrites[2].rewired = {{graph.tensor_count(), 0}};
  rewrites[3].rewired = {{0, graph.tensor_count()}};
  rewrites[4].rewired = {{kNoTensor, 0}};
  rewrites[5].added = {{.op = OpKind::kNeg, .inputs = {99}, .output_types = {kFloats}}};
  for (const Rewrite& rewrite : rewrites) {
    EXPECT_EQ(Apply(graph, rewrite).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace plait
