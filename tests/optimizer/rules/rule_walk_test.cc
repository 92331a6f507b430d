// Rules meet what other rules made of graphs that nobody wrote for them.
#include <cstdlib>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "absl/strings/numbers.h"
#include "base/random.h"
#include "optimizer/ir/text.h"
#include "optimizer/rules/rule.h"
#include "tests/optimizer/rules/equivalence.h"
#include "tests/optimizer/rules/random_graph.h"

namespace plait {
namespace {

// PLAIT_FUZZ_EXECUTIONS asks for more.
constexpr int kWalks = 400;
constexpr int kStepsOfWalk = 12;

struct OfferedRewrite {
  const Rule* rule;
  Rewrite rewrite;
};

std::vector<OfferedRewrite> OfferedIn(const Graph& graph) {
  std::vector<OfferedRewrite> offered;
  for (const Rule* rule : AllRules()) {
    for (NodeId node = 0; node < graph.node_count(); ++node) {
      if (graph.node(node).op != rule->root) continue;
      for (Rewrite& rewrite : rule->match(*rule, graph, node)) {
        offered.push_back({rule, std::move(rewrite)});
      }
    }
  }
  return offered;
}

// Few steps have sums that cancel so far that rounding is all that floating point shows of them;
// those must be equal in GF(p).
absl::Status CheckStep(const Graph& before, const Graph& after) {
  absl::Status in_float = CheckEquivalent(before, after, /*exact=*/false).status();
  if (in_float.ok()) return in_float;
  const absl::StatusOr<Exactness> in_field = CheckEquivalentInField(before, after);
  return in_field.ok() && *in_field == Exactness::kFieldToo ? absl::OkStatus() : in_float;
}

class RuleWalk {
 public:
  // Takes rewrites at random, each compared with what it was made of; false after one that failed.
  bool Run(uint64_t seed) {
    Random random(seed);
    Graph graph = RandomGraph(seed);
    for (int step = 0; step < kStepsOfWalk; ++step) {
      std::vector<OfferedRewrite> offered = OfferedIn(graph);
      if (offered.empty()) return true;
      const auto [rule, rewrite] =
          offered[static_cast<size_t>(random.Integer(0, static_cast<int64_t>(offered.size()) - 1))];
      taken_.insert(std::string(rule->name));
      absl::StatusOr<Graph> after = Apply(graph, rewrite);
      absl::Status status = after.status();
      if (status.ok()) status = CheckStep(graph, *after);
      if (!status.ok()) {
        ADD_FAILURE() << "seed " << seed << ", step " << step << ", " << rule->name << ": "
                      << status << "\n"
                      << PrintGraph(graph) << (after.ok() ? PrintGraph(*after) : "");
        return false;
      }
      graph = *std::move(after);
    }
    return true;
  }

  const std::set<std::string>& taken() const { return taken_; }

 private:
  std::set<std::string> taken_;  // rules, by name
};

TEST(RuleWalkTest, EveryStepKeepsTheFunction) {
  int walks = kWalks;
  const char* const asked = std::getenv("PLAIT_FUZZ_EXECUTIONS");
  if (asked != nullptr) {
    ASSERT_TRUE(absl::SimpleAtoi(asked, &walks));
  }
  RuleWalk walk;
  for (int seed = 1; seed <= walks; ++seed) {
    if (!walk.Run(static_cast<uint64_t>(seed))) break;
  }
  EXPECT_GE(walk.taken().size(), 40u) << "random graphs have become too plain";
}

}  // namespace
}  // namespace plait
