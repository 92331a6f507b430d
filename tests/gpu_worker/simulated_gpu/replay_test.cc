#include <cstdio>
#include <regex>
#include <set>

#include "absl/strings/str_join.h"
#include "base/random.h"
#include "gtest/gtest.h"
#include "tests/gpu_worker/simulated_gpu/driver_fixture.h"

// Graphs of small kernels, built by the FlatGraphBuilder and run by the DriverRuntime above the
// simulated driver.

namespace plait::simulated_gpu {
namespace {

using cuda::EdgeReason;

constexpr cuda::EdgeData kProgrammatic{.from_port = 1, .to_port = 0, .type = 1};
constexpr int kInputs = 2;
constexpr int kOperations = 9;
// Fewer than operations, so that memory is used again.
constexpr int kResults = 5;

struct Mixed {
  int x = 0, y = 0;  // buffers that it reads: inputs, then results
  int z = 0;         // and writes
  int workspace = 0;
};

using Edges = std::set<std::pair<int, int>>;

// Operations in an order in which they may run one after another, and as few edges as it takes.
struct Plan {
  std::vector<Mixed> operations;
  Edges edges;
};

// All pairs that edges from lower to higher numbers order.
Edges Closure(const Edges& edges) {
  Edges closure = edges;
  for (int b = 0; b < kOperations; ++b) {
    for (int a = b; a-- > 0;) {
      for (int c = a + 1; c < b; ++c) {
        if (edges.count({a, c}) != 0 && closure.count({c, b}) != 0) closure.insert({a, b});
      }
    }
  }
  return closure;
}

bool Conflicts(const Mixed& a, const Mixed& b) {
  return a.z == b.x || a.z == b.y || a.x == b.z || a.y == b.z || a.z == b.z;
}

// Every operation reads what two earlier ones have written, and writes to a random buffer that it
// does not read.
Plan RandomPlan(uint64_t seed) {
  Random random(seed);
  Plan plan;
  std::vector<int> written = {0, 1};
  for (int i = 0; i < kOperations; ++i) {
    Mixed mixed;
    mixed.x = written[random.Next() % written.size()];
    mixed.y = written[random.Next() % written.size()];
    do {
      mixed.z = kInputs + static_cast<int>(random.Next() % kResults);
    } while (mixed.z == mixed.x || mixed.z == mixed.y);
    mixed.workspace = i;
    written.push_back(mixed.z);
    plan.operations.push_back(mixed);
  }
  // From short distances to long ones, an edge is needed where no path is.
  for (int distance = 1; distance < kOperations; ++distance) {
    const Edges ordered = Closure(plan.edges);
    for (int a = 0; a + distance < kOperations; ++a) {
      const std::pair<int, int> pair = {a, a + distance};
      const bool conflict = Conflicts(plan.operations[pair.first], plan.operations[pair.second]);
      if (conflict && ordered.count(pair) == 0) plan.edges.insert(pair);
    }
  }
  return plan;
}

// The plans' buffers on a device of a driver of their own, since a race ends its context.
class Rig {
 public:
  Rig() {
    for (int i = 0; i < kInputs + kResults; ++i) buffers_.push_back(fixture_.Buffer());
    for (int i = 0; i < kOperations; ++i) workspaces_.push_back(fixture_.Buffer());
    for (int i = 0; i < kInputs; ++i) fixture_.Upload(buffers_[i], InputWords(i));
    EXPECT_TRUE(fixture_.runtime().Synchronize(fixture_.stream()).ok());
  }

  static std::vector<uint32_t> InputWords(int input) {
    std::vector<uint32_t> words;
    for (int w = 0; w < kWords; ++w) words.push_back(static_cast<uint32_t>(100 * input + w + 1));
    return words;
  }

  SimulatedDriver& driver() { return fixture_.driver(); }

  cuda::Result<cuda::ExecutableGraph> Build(const Plan& plan, const Edges& edges,
                                            std::pair<int, int> weak = {-1, -1}) {
    const cuda::Kernel work = fixture_.Kernel(KernelsOfTests(), "work");
    cuda::FlatGraphBuilder builder(&fixture_.runtime());
    for (const Mixed& o : plan.operations) {
      const auto added = builder.AddOperation("mixed", [&](cuda::Stream stream) {
        return fixture_.Launch(
            work, {buffers_[o.x], buffers_[o.y], buffers_[o.z], workspaces_[o.workspace]}, stream);
      });
      if (!added.ok()) return added.error();
    }
    for (const auto& edge : edges) {
      PLAIT_CUDA_RETURN_IF_ERROR(builder.AddEdge(edge.first, edge.second, EdgeReason::kData,
                                                 edge == weak ? kProgrammatic : cuda::EdgeData{}));
    }
    return builder.Build();
  }

  cuda::Status Run(const cuda::ExecutableGraph& graph) {
    PLAIT_CUDA_RETURN_IF_ERROR(graph.Launch(fixture_.stream()));
    return fixture_.runtime().Synchronize(fixture_.stream());
  }

  // Of the buffers that the plan writes to; the others are empty.
  std::vector<std::vector<uint32_t>> Results(const Plan& plan) {
    std::vector<std::vector<uint32_t>> results(buffers_.size());
    for (const Mixed& o : plan.operations) results[o.z] = fixture_.Download(buffers_[o.z]).value();
    return results;
  }

  // What running the plan with these edges is refused with; empty if it is not.
  std::string Refusal(const Plan& plan, const Edges& edges, uint64_t seed,
                      std::pair<int, int> weak = {-1, -1}) {
    driver().SetSeed(seed);
    const auto graph = Build(plan, edges, weak);
    if (!graph.ok()) return "not built: " + graph.error().message;
    const cuda::Status status = Run(graph.value());
    const std::vector<std::string> violations = driver().violations();
    if (violations.empty()) return status.ok() ? "" : "not told: " + status.error().message;
    return status.ok() ? "not reported: " + violations.front() : violations.front();
  }

 private:
  DriverFixture fixture_;
  std::vector<void*> buffers_, workspaces_;
};

// What the operations give one after another, in the form of Rig::Results().
std::vector<std::vector<uint32_t>> Expected(const Plan& plan) {
  std::vector<std::vector<uint32_t>> buffers(kInputs + kResults);
  for (int i = 0; i < kInputs; ++i) buffers[i] = Rig::InputWords(i);
  for (const Mixed& o : plan.operations) {
    std::vector<uint32_t> z;
    for (int w = 0; w < kWords; ++w) z.push_back(3 * buffers[o.x][w] + buffers[o.y][w]);
    buffers[o.z] = z;
  }
  for (int i = 0; i < kInputs; ++i) buffers[i].clear();
  return buffers;
}

class LinearExtensionsTest : public testing::TestWithParam<int> {};

TEST_P(LinearExtensionsTest, AThousandOfThemGiveTheSameBits) {
  const Plan plan = RandomPlan(GetParam());
  const std::vector<std::vector<uint32_t>> expected = Expected(plan);
  Rig rig;
  const auto graph = rig.Build(plan, plan.edges);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph.value().nodes(), static_cast<size_t>(kOperations));
  EXPECT_EQ(graph.value().edges(), plan.edges.size());
  std::set<std::string> orders;
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    rig.driver().SetSeed(seed);
    rig.driver().TakeTrace(0);
    const cuda::Status ran = rig.Run(graph.value());
    ASSERT_TRUE(ran.ok()) << "seed " << seed << ": " << ran.error().message;
    orders.insert(absl::StrJoin(rig.driver().TakeTrace(0), ", "));
    ASSERT_EQ(rig.Results(plan), expected) << "seed " << seed;
  }
  std::printf("plan %d: %zu edges, %zu different orders\n", GetParam(), plan.edges.size(),
              orders.size());
  EXPECT_GT(orders.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Plans, LinearExtensionsTest, testing::Range(1, 4));

// Whether a refusal is a race between two operations that the edges do not order and that touch the
// same memory.
bool IsTrueRace(const std::string& refusal, const Plan& plan, const Edges& edges) {
  static const std::regex kRace(
      "race: nothing orders node (\\d) \\(kernel work\\) and node (\\d) \\(kernel work\\), "
      "which both touch bytes \\d+ to \\d+ of \"allocation \\d+\"");
  std::smatch match;
  if (!std::regex_match(refusal, match, kRace)) return false;
  const int a = std::stoi(match[1]), b = std::stoi(match[2]);
  const Mixed &first = plan.operations[a], &second = plan.operations[b];
  const bool touch = Conflicts(first, second) || first.workspace == second.workspace;
  return touch && Closure(edges).count({a, b}) + Closure(edges).count({b, a}) == 0;
}

// Every mutant is a graph that lacks an order: an edge of as few as it takes, an edge that became
// programmatic though no kernel waits, or two workspaces that became one.
TEST(GraphMutantsTest, AreCaughtAndTheirTwinsAreNot) {
  int dropped = 0, weakened = 0, shared = 0, caught = 0, twins = 0;
  const auto note = [&](bool is_caught, const std::string& refusal) {
    caught += is_caught;
    EXPECT_TRUE(is_caught) << refusal;
  };
  for (uint64_t seed = 1; seed <= 12; ++seed, ++twins) {
    const Plan plan = RandomPlan(seed);
    EXPECT_EQ(Rig().Refusal(plan, plan.edges, seed), "") << "seed " << seed;
    for (const auto& edge : plan.edges) {
      Edges others = plan.edges;
      others.erase(edge);
      const std::string without = Rig().Refusal(plan, others, seed);
      note(IsTrueRace(without, plan, others), without);
      ++dropped;
      const std::string weak = Rig().Refusal(plan, plan.edges, seed, edge);
      note(weak.find("race: ") == 0, weak);
      ++weakened;
    }
    for (int a = 0; a < kOperations; ++a) {
      for (int b = a + 1; b < kOperations; ++b) {
        if (Closure(plan.edges).count({a, b}) != 0) continue;
        Plan mutant = plan;
        mutant.operations[b].workspace = mutant.operations[a].workspace;
        const std::string refusal = Rig().Refusal(mutant, plan.edges, seed);
        note(IsTrueRace(refusal, mutant, plan.edges), refusal);
        ++shared;
      }
    }
  }
  std::printf("%d dropped edges, %d weakened edges, %d shared workspaces: %d caught; %d twins\n",
              dropped, weakened, shared, caught, twins);
  EXPECT_GE(dropped + weakened + shared, 200);
}

// x -> produce -> y -> one of the others, with the constant c -> z.
class ProgrammaticEdgeTest : public testing::Test {
 protected:
  // Runs 50 orders. Returns the first refusal, or an empty text.
  std::string Run(DriverFixture& fixture, const char* consumer, cuda::EdgeData edge,
                  bool writes_constant = false, const std::string& text = KernelsWithTriggers()) {
    void *x = fixture.Buffer(), *y = fixture.Buffer(), *c = fixture.Buffer(), *z = fixture.Buffer();
    fixture.Upload(x, std::vector<uint32_t>(kWords, 5));
    fixture.Upload(c, std::vector<uint32_t>(kWords, 7));
    fixture.Upload(y, std::vector<uint32_t>(kWords, 0));
    cuda::Runtime& runtime = fixture.runtime();
    EXPECT_TRUE(runtime.Synchronize(fixture.stream()).ok());
    cuda::FlatGraphBuilder builder(&runtime);
    const auto add = [&](const char* name, std::vector<void*> arguments) {
      const cuda::Kernel kernel = fixture.Kernel(text, name);
      EXPECT_TRUE(builder
                      .AddOperation(name,
                                    [&](cuda::Stream stream) {
                                      return fixture.Launch(kernel, arguments, stream);
                                    })
                      .ok());
    };
    add("produce", {x, y});
    add(consumer, {y, c, z});
    EXPECT_TRUE(builder.AddEdge(0, 1, EdgeReason::kData, edge).ok());
    if (writes_constant) {
      add("produce", {x, c});
      EXPECT_TRUE(builder.AddEdge(2, 1, EdgeReason::kData).ok());
    }
    const auto graph = builder.Build();
    if (!graph.ok()) return graph.error().message;
    for (uint64_t seed = 1; seed <= 50; ++seed) {
      fixture.driver().SetSeed(seed);
      const cuda::Status launched = graph.value().Launch(fixture.stream());
      EXPECT_TRUE(launched.ok());
      if (!runtime.Synchronize(fixture.stream()).ok()) return fixture.driver().violations().front();
      EXPECT_EQ(fixture.Download(z).value(),
                std::vector<uint32_t>(kWords, 3 * (writes_constant ? 15 : 7) + 15));
    }
    return "";
  }

  // With a driver of its own.
  std::string RunAlone(const char* consumer, cuda::EdgeData edge, bool writes_constant = false) {
    DriverFixture fixture;
    return Run(fixture, consumer, edge, writes_constant);
  }
};

TEST_F(ProgrammaticEdgeTest, WhoWaitsForItsInputsIsRight) {
  EXPECT_EQ(RunAlone("consume", kProgrammatic), "");
}

TEST_F(ProgrammaticEdgeTest, WhoDoesNotWaitRaces) {
  for (const char* consumer : {"hasty", "greedy"}) {
    const std::string refusal = RunAlone(consumer, kProgrammatic);
    for (const char* part : {"race: before its griddepcontrol.wait node 1", consumer, "node 0",
                             "bytes 0 to 255 of \"allocation 2\""}) {
      EXPECT_NE(refusal.find(part), std::string::npos) << part << " is not in: " << refusal;
    }
    EXPECT_EQ(RunAlone(consumer, {}), "");
  }
}

// Before its wait a kernel may read what no node of its graph writes, be it ordered or not.
TEST_F(ProgrammaticEdgeTest, WhatANodeWritesIsNoConstant) {
  const std::string refusal = RunAlone("consume", kProgrammatic, /*writes_constant=*/true);
  for (const char* part :
       {"race: before its griddepcontrol.wait node 1", "node 2", "allocation 3"}) {
    EXPECT_NE(refusal.find(part), std::string::npos) << part << " is not in: " << refusal;
  }
  EXPECT_EQ(RunAlone("consume", {}, /*writes_constant=*/true), "");
}

// x -> produce -> y -> the second -> third, which reads y as well, over programmatic edges alone.
TEST_F(ProgrammaticEdgeTest, WhoWaitsHandsOnWhatItWaitedFor) {
  for (const bool waits : {true, false}) {
    DriverFixture fixture;
    void *x = fixture.Buffer(), *y = fixture.Buffer(), *c = fixture.Buffer(), *z = fixture.Buffer();
    void* last = fixture.Buffer();
    for (void* buffer : {x, c}) fixture.Upload(buffer, std::vector<uint32_t>(kWords, 5));
    cuda::Runtime& runtime = fixture.runtime();
    ASSERT_TRUE(runtime.Synchronize(fixture.stream()).ok());
    cuda::FlatGraphBuilder builder(&runtime);
    const auto add = [&](const char* name, std::vector<void*> arguments) {
      const cuda::Kernel kernel = fixture.Kernel(KernelsWithTriggers(), name);
      const auto launch = [&](cuda::Stream stream) {
        return fixture.Launch(kernel, arguments, stream);
      };
      ASSERT_TRUE(builder.AddOperation(name, launch).ok());
    };
    add("produce", {x, y});
    if (waits) {
      add("consume", {y, c, z});
    } else {
      add("produce", {c, z});
    }
    add("consume", {y, c, last});
    ASSERT_TRUE(builder.AddEdge(0, 1, EdgeReason::kData, kProgrammatic).ok());
    ASSERT_TRUE(builder.AddEdge(1, 2, EdgeReason::kData, kProgrammatic).ok());
    const auto graph = builder.Build();
    ASSERT_TRUE(graph.ok());
    std::string refusal;
    for (uint64_t seed = 1; seed <= 50 && refusal.empty(); ++seed) {
      fixture.driver().SetSeed(seed);
      ASSERT_TRUE(graph.value().Launch(fixture.stream()).ok());
      const bool ran = runtime.Synchronize(fixture.stream()).ok();
      if (!ran) refusal = fixture.driver().violations().front();
    }
    EXPECT_EQ(refusal.empty(), waits) << refusal;
  }
}

TEST_F(ProgrammaticEdgeTest, BecomesFullWhereTheDeviceHasNone) {
  std::string text = KernelsWithTriggers();
  for (const char* line : {"  griddepcontrol.wait;\n", "  griddepcontrol.launch_dependents;\n"}) {
    for (size_t at = text.find(line); at != std::string::npos; at = text.find(line)) {
      text.erase(at, std::string(line).size());
    }
  }
  text.replace(text.find("sm_90"), 5, "sm_80");
  DriverFixture fixture({}, /*device=*/1);
  EXPECT_EQ(Run(fixture, "hasty", kProgrammatic, false, text), "");
}

}  // namespace
}  // namespace plait::simulated_gpu
