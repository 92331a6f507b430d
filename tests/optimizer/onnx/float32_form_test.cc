#include "optimizer/onnx/float32_form.h"

#include <gtest/gtest.h>

#include "optimizer/ir/text.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

std::string Form(absl::string_view text) {
  const absl::StatusOr<Graph> graph = ParseTypedGraph(text);
  if (!graph.ok()) return graph.status().ToString();
  const absl::StatusOr<Graph> form = Float32Form(*graph);
  if (!form.ok()) return form.status().ToString();
  for (NodeId id = 0; id < form->node_count(); ++id) {
    if (form->node(id).op == OpKind::kOpaque) continue;
    EXPECT_TRUE(InferTypes(*form, id).ok()) << PrintGraph(*form);
  }
  const absl::StatusOr<Graph> again = Float32Form(*form);
  EXPECT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->fingerprint(), form->fingerprint()) << PrintGraph(*again);
  return PrintGraph(*form);
}

TEST(Float32FormTest, CastsAtTheEndsOnly) {
  EXPECT_EQ(Form(R"(graph {
  input %x: float16[2,4]
  input %n: int64[]
  const %w: float16[4,3] = synthetic 1
  %p = MatMul(%x, %w)
  %y = Relu(%p)
  %z = Cast(%n) {to=1}
  output %y, %z
})"),
            R"(graph {
  input %x: float16[2,4]
  input %n: int64[]
  const %c0: float16[4,3] = synthetic 1
  const %t1: float32[4,3] = Cast(%c0) {to=1}
  %t0: float32[2,4] = Cast(%x) {to=1}
  %p: float32[2,3] = MatMul(%t0, %t1) {}
  %t2: float32[2,3] = Relu(%p) {}
  %z: float32[] = Cast(%n) {to=1}
  %y: float16[2,3] = Cast(%t2) {to=10}
  output %y, %z
}
)");
}

// A row of a table is moved before it is widened, and what was computed after that.
TEST(Float32FormTest, MovesWhatItWasGivenIn16Bits) {
  EXPECT_EQ(Form(R"(graph {
  input %i: int64[2]
  const %w: bfloat16[9,4] = synthetic 1
  %r = Gather(%w, %i)
  %e = Exp(%r)
  %t = Transpose(%e)
  output %r, %t
})"),
            R"(graph {
  input %i: int64[2]
  const %w: bfloat16[9,4] = synthetic 1
  %r: bfloat16[2,4] = Gather(%w, %i) {}
  %t0: float32[2,4] = Cast(%r) {to=1}
  %e: float32[2,4] = Exp(%t0) {}
  %t1: float32[4,2] = Transpose(%e) {}
  %t: bfloat16[4,2] = Cast(%t1) {to=16}
  output %r, %t
}
)");
}

TEST(Float32FormTest, RoundsWhereTheModelDoes) {
  EXPECT_EQ(Form(R"(graph {
  input %x: float32[2]
  input %i: int64[2]
  %h = Cast(%x) {to=10}
  %k = Cast(%i) {to=10}
  %s = Add(%h, %k)
  %y = Cast(%s) {to=1}
  output %y
})"),
            R"(graph {
  input %x: float32[2]
  input %i: int64[2]
  %h: float16[2] = Cast(%x) {to=10}
  %t0: float32[2] = Cast(%i) {to=1}
  %k: float16[2] = Cast(%t0) {to=10}
  %t1: float32[2] = Cast(%h) {to=1}
  %t2: float32[2] = Cast(%k) {to=1}
  %y: float32[2] = Add(%t1, %t2) {}
  output %y
}
)");
}

TEST(Float32FormTest, OutputsStayTensorsOfTheirOwn) {
  EXPECT_EQ(Form(R"(graph {
  input %x: float16[2]
  %a = Neg(%x)
  %y = Cast(%a) {to=1}
  %z = Cast(%a) {to=1}
  output %y, %z, %a
})"),
            R"(graph {
  input %x: float16[2]
  %t0: float32[2] = Cast(%x) {to=1}
  %y: float32[2] = Neg(%t0) {}
  %z: float32[2] = Cast(%y) {to=1}
  %a: float16[2] = Cast(%y) {to=10}
  output %y, %z, %a
}
)");
}

// What nobody understands reads and writes what it did.
TEST(Float32FormTest, LeavesOpaqueNodesTheirTypes) {
  EXPECT_EQ(Form(R"(graph {
  input %x: float16[2]
  %a = Neg(%x)
  %b: float16[2] = Opaque(%a) {op_type="Custom"}
  %y = Abs(%b)
  output %y
})"),
            R"(graph {
  input %x: float16[2]
  %t0: float32[2] = Cast(%x) {to=1}
  %t1: float32[2] = Neg(%t0) {}
  %a: float16[2] = Cast(%t1) {to=10}
  %b: float16[2] = Opaque(%a) {op_type="Custom"}
  %t2: float32[2] = Cast(%b) {to=1}
  %t3: float32[2] = Abs(%t2) {}
  %y: float16[2] = Cast(%t3) {to=10}
  output %y
}
)");
}

TEST(Float32FormTest, OtherGraphsStayAsTheyAre) {
  const Graph graph = *ParseTypedGraph(
      "graph {\n  input %x: float64[2]\n  %y = Abs(%x)\n"
      "  output %y\n}");
  EXPECT_EQ(PrintGraph(*Float32Form(graph)), PrintGraph(graph));
}

}  // namespace
}  // namespace plait
