#include "optimizer/plan/check_parts.h"

#include <algorithm>

#include "gtest/gtest.h"
#include "tests/fakes/planned_graph.h"
#include "tests/optimizer/plan/plan_faults.h"
#include "tests/optimizer/plan/sample_plan.h"

namespace plait {
namespace {

// A dense block: %e has all of %c and 64 channels more. What two nodes read is not fused with one.
Graph DenseBlock() {
  return GraphOf(R"(graph {
  input %x: float32[1,16,4,4]
  %a = Relu(%x) {}
  %b = Neg(%a) {}
  %c = Concat(%a, %b) {axis=1}
  %d = Abs(%c) {}
  %f = Exp(%c) {}
  %e = Concat(%a, %b, %d, %f) {axis=1}
  %y = Relu(%e) {}
  %z = Neg(%e) {}
  output %y, %z
}
)");
}

Plan PlanWithParts(const Graph& graph, bool takes_parts) {
  FakeCatalog catalog(/*threads=*/1, /*channels_last=*/true);
  catalog.takes_parts = takes_parts;
  return PlansOf(graph, catalog, FakeDevice(1)).front();
}

int ValueOf(const Graph& graph, const Plan& plan, absl::string_view name) {
  const TensorId tensor = TensorNamed(graph, name);
  const auto found = std::find_if(plan.values.begin(), plan.values.end(), [&](const Value& value) {
    return value.tensor == tensor && value.format == Format::kChannelsLast;
  });
  EXPECT_NE(found, plan.values.end()) << name;
  return static_cast<int>(found - plan.values.begin());
}

TEST(CheckPartsTest, ADenseBlockLiesInItsLastConcat) {
  const Graph graph = DenseBlock();
  const Plan plan = PlanWithParts(graph, /*takes_parts=*/true);
  ASSERT_EQ(CheckPlan(plan, graph), absl::OkStatus());
  const int whole = ValueOf(graph, plan, "e");
  EXPECT_EQ(plan.values[whole].alias_of, -1);
  const std::vector<std::pair<const char*, int>> parts = {
      {"a", 0}, {"b", 16}, {"c", 0}, {"d", 32}, {"f", 64}};
  for (const auto& [name, first_channel] : parts) {
    const Value& part = plan.values[ValueOf(graph, plan, name)];
    EXPECT_EQ(part.alias_of, whole) << name;
    EXPECT_EQ(part.first_channel, first_channel) << name;
  }
  for (const Step& step : plan.steps) EXPECT_TRUE(CopiedPieces(plan, graph, step).empty());
  const absl::StatusOr<Plan> parsed = ParsePlan(PrintPlan(plan));
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(*parsed, plan);
}

TEST(CheckPartsTest, NothingIsAPartForKernelsThatTakeNone) {
  const Graph graph = DenseBlock();
  const Plan plan = PlanWithParts(graph, /*takes_parts=*/false);
  for (const Value& value : plan.values) EXPECT_EQ(value.first_channel, -1);
  size_t copied = 0;
  for (const Step& step : plan.steps) copied += CopiedPieces(plan, graph, step).size();
  EXPECT_EQ(copied, 2 + 4);
}

TEST(CheckPartsTest, FindsWhatIsWrong) {
  const Graph graph = DenseBlock();
  const Plan plan = PlanWithParts(graph, /*takes_parts=*/true);
  const int a = ValueOf(graph, plan, "a");
  const int b = ValueOf(graph, plan, "b");
  const int c = ValueOf(graph, plan, "c");
  const int d = ValueOf(graph, plan, "d");
  const int x = ValueOf(graph, plan, "x");
  const int e = ValueOf(graph, plan, "e");
  ExpectFaultsFound(
      graph, plan,
      {
          {"over another part", [&](Plan& p) { p.values[d].first_channel = 16; },
           "both write channel 16"},
          {"behind the whole", [&](Plan& p) { p.values[d].first_channel = 70; },
           "more channels than"},
          {"far behind", [&](Plan& p) { p.values[d].first_channel = int64_t{1} << 62; },
           "more channels than"},
          {"of nothing", [&](Plan& p) { p.values[a].alias_of = -1; }, "not of which value"},
          {"of a part", [&](Plan& p) { p.values[c].alias_of = a; }, "an alias itself"},
          {"elsewhere", [&](Plan& p) { p.values[b].buffer.size_bytes -= 64; },
           "the buffer of its whole"},
          {"of what lies elsewhere", [&](Plan& p) { p.values[a].alias_of = x; },
           "the buffer of its"},
          {"no part, so that two Concats copy it",
           [&](Plan& p) {
             p.values[b] = {p.values[b].tensor, Format::kChannelsLast, {p.arena_bytes, 1024}};
             p.arena_bytes += 1024;
           },
           "both write channel 16"},
          {"over what its writer reads",
           [&](Plan& p) { p.values[x].buffer.offset_bytes = p.values[e].buffer.offset_bytes; },
           "may still use"},
      });
}

}  // namespace
}  // namespace plait
