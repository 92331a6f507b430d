#include <functional>

#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "tests/optimizer/ir/graphs.h"

namespace plait {
namespace {

// Two branches that share an input, a constant, a node with two outputs, two graph outputs.
constexpr char kText[] = R"(graph {
  input %x: float32[4]
  input %z: float32[4]
  const %w: float32[4] = synthetic 1
  const %k: float32[4] = [1,2,3,4]
  %a: float32[4] = Mul(%x, %w) {}
  %b: float32[4] = Add(%z, %k) {}
  %c: float32[4] = Softmax(%a) {axis=0}
  %d: float32[2], %e: float32[2] = Split(%b, _) {axis=0, num_outputs=2}
  %f: float32[4] = Concat(%d, %e) {axis=0}
  %g: float32[4] = Sub(%c, %f) {}
  output %g, %d
}
)";

Fingerprint Changed(absl::string_view from, absl::string_view to) {
  const std::string text = absl::StrReplaceAll(kText, {{from, to}});
  EXPECT_NE(text, kText) << from;
  return GraphOf(text).fingerprint();
}

TEST(GraphFingerprintTest, IgnoresNames) {
  EXPECT_EQ(Changed("%a", "%another"), GraphOf(kText).fingerprint());
  EXPECT_EQ(Changed("Mul(%x, %w) {}", "Mul(%x, %w) {} @mul_1"), GraphOf(kText).fingerprint());
}

TEST(GraphFingerprintTest, IgnoresTheOrderOfIndependentNodesAndConstants) {
  constexpr char kReordered[] = R"(graph {
  input %x: float32[4]
  input %z: float32[4]
  const %k: float32[4] = [1,2,3,4]
  %b: float32[4] = Add(%z, %k) {}
  %d: float32[2], %e: float32[2] = Split(%b, _) {num_outputs=2, axis=0}
  const %w: float32[4] = synthetic 1
  %f: float32[4] = Concat(%d, %e) {axis=0}
  %a: float32[4] = Mul(%x, %w) {}
  %c: float32[4] = Softmax(%a) {axis=0}
  %g: float32[4] = Sub(%c, %f) {}
  output %g, %d
}
)";
  EXPECT_NE(PrintGraph(GraphOf(kReordered)), PrintGraph(GraphOf(kText)));
  EXPECT_EQ(GraphOf(kReordered).fingerprint(), GraphOf(kText).fingerprint());
}

TEST(GraphFingerprintTest, IgnoresDeadCode) {
  EXPECT_EQ(Changed("  output", "  %dead: float32[4] = Relu(%x) {}\n  output"),
            GraphOf(kText).fingerprint());
}

TEST(GraphFingerprintTest, EverySingleChangeChangesIt) {
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"Softmax(%a) {axis=0}", "Softmax(%a) {axis=1}"},
      {"Softmax(%a) {axis=0}", "Softmax(%a) {}"},
      {"Softmax", "LogSoftmax"},
      {"Softmax(%a)", "Softmax(%x)"},
      {"synthetic 1", "synthetic 2"},
      {"[1,2,3,4]", "[1,2,3,5]"},
      {"Sub(%c, %f)", "Sub(%f, %c)"},
      {"Concat(%d, %e)", "Concat(%e, %d)"},
      {"Concat(%d, %e)", "Concat(%d, %d)"},
      {"Split(%b, _)", "Split(%b)"},
      {"output %g, %d", "output %d, %g"},
      {"output %g, %d", "output %g, %e"},
      {"output %g, %d", "output %g"},
      {"output %g, %d", "output %g, %d, %d"},
      {"output %g, %d", "output %g, %d, %x"},
      {"float32[4]", "float16[4]"},
      {"%g: float32[4]", "%g: float32[1,4]"},
      {"input %z: float32[4]", "input %unused: float32[4]\n  input %z: float32[4]"},
      {"input %z: float32[4]", "input %z: float32[4]\n  input %unused: float32[4]"},
      {"input %x: float32[4]\n  input %z", "input %z: float32[4]\n  input %x"},
  };
  std::vector<Fingerprint> seen = {GraphOf(kText).fingerprint()};
  for (const auto& [from, to] : changes) {
    const Fingerprint changed = Changed(from, to);
    for (const Fingerprint& other : seen) EXPECT_NE(changed, other) << from << " -> " << to;
    seen.push_back(changed);
  }
}

TEST(GraphFingerprintTest, TellsApartEqualValuesThatAreSharedDifferently) {
  // %a and %b are equal, so only who reads which differs.
  const std::string text = AroundX(R"(  %a: float32[4] = Relu(%x) {}
  %b: float32[4] = Relu(%x) {}
  %c: float32[4] = Add(%a, %b) {}
  %d: float32[4] = Mul(%a, %a) {}
  output %c, %d
)");
  const Fingerprint original = GraphOf(text).fingerprint();
  const auto with = [&](absl::string_view from, absl::string_view to) {
    return absl::StrReplaceAll(text, {{from, to}});
  };
  EXPECT_NE(GraphOf(with("Add(%a, %b)", "Add(%a, %a)")).fingerprint(), original);
  EXPECT_NE(GraphOf(with("Mul(%a, %a)", "Mul(%a, %b)")).fingerprint(), original);
  // Exchanging the two everywhere is a mere renaming.
  const std::string exchanged =
      absl::StrReplaceAll(text, {{"Add(%a, %b)", "Add(%b, %a)"}, {"Mul(%a, %a)", "Mul(%b, %b)"}});
  EXPECT_EQ(GraphOf(exchanged).fingerprint(), original);
}

TEST(GraphFingerprintTest, IsTheSameInEveryBuild) {
  // Recorded once: plans and caches on disk name graphs by it.
  const Graph graph = GraphOf(AroundX("  %y: float32[4] = Relu(%x) {}\n  output %y\n"));
  EXPECT_EQ(graph.fingerprint().ToString(), "8ca1354e3e9d44715760a46fd80b387d");
}

}  // namespace
}  // namespace plait
