#include "optimizer/onnx/prove_form.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/limits.h"
#include "optimizer/ir/text.h"
#include "optimizer/onnx/node_form.h"
#include "optimizer/ops/shared/op_spec.h"
#include "tests/optimizer/ops/samples.h"

namespace plait {
namespace {

using ::testing::HasSubstr;

Graph Parse(const std::string& text) {
  absl::StatusOr<Graph> graph = ParseTypedGraph(text);
  if (!graph.ok()) ADD_FAILURE() << graph.status() << "\n" << text;
  return *std::move(graph);
}

// A graph with the nodes that `lines` are, from %x to %y.
Graph GraphOf(const std::string& inputs, const std::string& lines) {
  return Parse(absl::StrCat("graph {\n", inputs, lines, "  output %y\n}"));
}

constexpr char kImage[] = "  input %x: float32[2,3,4]\n";

TEST(CheckSameFunctionTest, AcceptsWhatIsOnlyWrittenInAnotherWay) {
  EXPECT_EQ(CheckSameFunction(GraphOf(kImage, "  %y = Softmax(%x) {axis=-1}\n"),
                              GraphOf(kImage, "  %y = Softmax(%x) {axis=2}\n")),
            absl::OkStatus());
}

TEST(CheckSameFunctionTest, RefusesAnotherFunction) {
  const std::string rows = "  input %x: float32[4,6]\n  input %s: float32[6]\n";
  const std::string indices = "  input %x: float32[3,3]\n  input %i: int64[3,3]\n";
  const std::string halves = "  input %x: float16[64]\n";
  const struct {
    const char* what;
    std::string inputs;
    std::string node;
    std::string form;
  } cases[] = {
      {"an axis", kImage, "Softmax(%x) {axis=1}", "Softmax(%x) {axis=2}"},
      {"an epsilon", rows, "LayerNormalization(%x, %s) {epsilon=1e-5}",
       "LayerNormalization(%x, %s) {epsilon=1e-4}"},
      {"an epsilon that is gone", rows, "LayerNormalization(%x, %s) {epsilon=1e-12}",
       "LayerNormalization(%x, %s) {epsilon=0.0}"},
      {"the approximation of Gelu", kImage, "Gelu(%x)", "Gelu(%x) {approximate=\"tanh\"}"},
      {"a slope", halves, "LeakyRelu(%x) {alpha=0.01}", "LeakyRelu(%x) {alpha=0.02}"},
      {"a wide bound", kImage, "HardSwish(%x)", "Relu(%x)"},
      {"the axis of indices", indices, "GatherElements(%x, %i) {axis=1}",
       "GatherElements(%x, %i) {axis=0}"},
      {"an order", "  input %x: int32[5]\n  input %z: int32[5]\n", "Max(%x, %z)", "Min(%x, %z)"},
  };
  for (const auto& refused : cases) {
    const auto graph_of = [&](const std::string& node) {
      return GraphOf(refused.inputs, absl::StrCat("  %y = ", node, "\n"));
    };
    const absl::Status status = CheckSameFunction(graph_of(refused.node), graph_of(refused.form));
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << refused.what << ": " << status;
    EXPECT_THAT(status.message(), HasSubstr("output 0")) << refused.what;
  }
}

TEST(CheckSameFunctionTest, RefusesOtherInputsAndOutputs) {
  const Graph node = GraphOf(kImage, "  %y = Relu(%x)\n");
  EXPECT_THAT(CheckSameFunction(node, GraphOf("  input %x: float32[2,3,5]\n", "  %y = Relu(%x)\n"))
                  .message(),
              HasSubstr("input 0 is float32[2,3,5] in place of float32[2,3,4]"));
  EXPECT_THAT(CheckSameFunction(node, GraphOf(kImage, "  %y = ReduceSum(%x)\n")).message(),
              HasSubstr("output 0 is float32[1,1,1]"));
}

// The sample in other floats: none of its text says float32 but the types of its tensors.
Graph SampleIn(const std::string& dtype, const OperatorSample& sample) {
  const std::string text = absl::StrReplaceAll(GraphTextOf(sample), {{"float32", dtype}});
  absl::StatusOr<Graph> graph = ParseTypedGraph(text);
  // Casts name their types by number, so some samples have no other form.
  return graph.ok() ? *std::move(graph) : Parse(GraphTextOf(sample));
}

// Every operator's samples in every opset that can say them: what plait writes is right, and the
// proof, which must refuse no correct file, sees it.
TEST(ProveFormTest, ProvesWhatIsWrittenOfEverySample) {
  int proven = 0;
  for (const OperatorSample& sample : OperatorSamples()) {
    for (const char* dtype : {"float32", "float16", "bfloat16", "float64"}) {
      const Graph graph = SampleIn(dtype, sample);
      ASSERT_EQ(graph.node_count(), 1) << sample.node;
      const absl::StatusOr<Graph> alone = NodeAlone(graph, 0);
      ASSERT_TRUE(alone.ok()) << alone.status();
      for (int opset = kOpsetMin; opset <= kOpsetMax; ++opset) {
        const auto form_of = [&](const Graph& node) { return WrittenForm(node, opset); };
        const absl::StatusOr<Graph> form = form_of(*alone);
        if (!form.ok() || form->fingerprint() == alone->fingerprint()) continue;
        EXPECT_EQ(ProveForm(*alone, *form, form_of), absl::OkStatus())
            << sample.node << " in " << dtype << " and opset " << opset;
        ++proven;
      }
    }
  }
  EXPECT_GT(proven, 500);
}

// Shapes of real models, in all of which rounding adds up as much as it may.
TEST(ProveFormTest, ProvesRealShapesInEveryFloat) {
  const struct {
    const char* inputs;
    const char* node;
  } cases[] = {
      {"  input %x: FLOAT[2,12,256,80]\n  input %k: FLOAT[2,12,256,80]\n"
       "  input %v: FLOAT[2,12,256,80]\n  input %m: FLOAT[2,1,1,256]\n",
       "Attention(%x, %k, %v, %m)"},
      {"  input %x: FLOAT[8,384,768]\n  input %s: FLOAT[768]\n  input %b: FLOAT[768]\n",
       "LayerNormalization(%x, %s, %b) {epsilon=1e-12}"},
      {"  input %x: FLOAT[4096,2]\n  input %s: FLOAT[2]\n", "LayerNormalization(%x, %s)"},
      {"  input %x: FLOAT[8,384,3072]\n", "Gelu(%x)"},
      {"  input %x: FLOAT[8,384,3072]\n", "Gelu(%x) {approximate=\"tanh\"}"},
      {"  input %x: FLOAT[1,64,112,112]\n", "Swish(%x) {alpha=1.702}"},
      {"  input %x: FLOAT[1,64,112,112]\n", "HardSwish(%x)"},
      {"  input %x: FLOAT[8,12,384,384]\n", "Softmax(%x) {axis=1}"},
  };
  for (const char* dtype : {"float32", "float16", "bfloat16", "float64"}) {
    for (const auto& [inputs, node] : cases) {
      const Graph graph = GraphOf(absl::StrReplaceAll(inputs, {{"FLOAT", dtype}}),
                                  absl::StrCat("  %y = ", node, "\n"));
      const absl::StatusOr<Graph> alone = NodeAlone(graph, 0);
      ASSERT_TRUE(alone.ok()) << alone.status();
      for (const int opset : {9, 13}) {
        const auto form_of = [&](const Graph& part) { return WrittenForm(part, opset); };
        const absl::StatusOr<Graph> form = form_of(*alone);
        if (!form.ok()) continue;  // bfloat16 before opset 13
        EXPECT_EQ(ProveForm(*alone, *form, form_of), absl::OkStatus()) << node << " in " << dtype;
      }
    }
  }
}

// Halves of this axis may be parts of equal size, which have another form.
TEST(ProveFormTest, KeepsTheFormOfUnevenParts) {
  const Graph graph = GraphOf("  input %x: float32[4,1000,1024]\n",
                              "  %y, %y1, %y2 = Split(%x) {axis=-2, num_outputs=3}\n");
  const absl::StatusOr<Graph> alone = NodeAlone(graph, 0);
  ASSERT_TRUE(alone.ok()) << alone.status();
  for (const int opset : {9, 13}) {
    const auto form_of = [&](const Graph& part) { return WrittenForm(part, opset); };
    const absl::StatusOr<Graph> form = form_of(*alone);
    ASSERT_TRUE(form.ok()) << form.status();
    EXPECT_EQ(ProveForm(*alone, *form, form_of), absl::OkStatus()) << opset;
  }
}

// A thousand million elements, which nothing could evaluate.
TEST(ProveFormTest, ProvesLargeNodesWithSmallerExtents) {
  const Graph large = GraphOf("  input %x: float32[64,4096,4096]\n  input %s: float32[4096]\n",
                              "  %y = LayerNormalization(%x, %s) {epsilon=1e-5}\n");
  const auto form_of = [](const Graph& node) { return WrittenForm(node, 13); };
  const absl::StatusOr<Graph> form = form_of(large);
  ASSERT_TRUE(form.ok()) << form.status();
  EXPECT_EQ(ProveForm(large, *form, form_of), absl::OkStatus());
  // The same with another epsilon.
  const auto wrong_form_of = [&](const Graph& node) -> absl::StatusOr<Graph> {
    return ParseTypedGraph(
        absl::StrReplaceAll(PrintGraph(node), {{"epsilon=1e-05", "epsilon=0.0001"}}));
  };
  const absl::StatusOr<Graph> wrong = wrong_form_of(large);
  ASSERT_TRUE(wrong.ok()) << wrong.status();
  ASSERT_NE(wrong->fingerprint(), large.fingerprint());
  EXPECT_EQ(ProveForm(large, *wrong, wrong_form_of).code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace plait
