#include "gpu_worker/backends/cuda/run/graph_costs.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu_worker/backends/cuda/driver/nvrtc.h"
#include "gpu_worker/backends/cuda/driver/owned.h"
#include "gpu_worker/simulated_gpu/driver/simulated_driver.h"
#include "tests/gpu_worker/backends/cuda/run/clock_runtime.h"

namespace plait::cuda {
namespace {

// A device whose graphs take what their nodes and edges say: a start, the longest path of kernels
// and copies, more at each edge of a fork or a join; and of kernels without edges, some at a time.
class CostlyRuntime : public ClockRuntime {
 public:
  using ClockRuntime::ClockRuntime;

  double start_us = 7.5;
  double cross_us = 1.25;
  size_t at_a_time = 32;
  double copy_us = 80;
  int64_t l2_bytes = int64_t{1} << 20;

  Result<DeviceFacts> Describe() override {
    Result<DeviceFacts> facts = ClockRuntime::Describe();
    if (!facts.ok()) return facts;
    DeviceFacts of_test = facts.value();
    of_test.l2_bytes = l2_bytes;
    return of_test;
  }

 private:
  double UsOfNode(GraphNode node) {
    if (NodeKind(node).value() == NodeDescription::Kind::kMemcpy) return copy_us;
    return DescribeNode(node).value().kernel == "plait_lasting" ? 40.0 : 0.5;
  }

  double UsOf(Graph graph) override {
    const std::vector<GraphNode> nodes = Nodes(graph).value();
    const std::vector<GraphEdge> edges = Edges(graph).value();
    std::map<GraphNode, int> from, to;
    for (const GraphEdge& edge : edges) {
      ++from[edge.from];
      ++to[edge.to];
    }
    const size_t rounds = edges.empty() ? (nodes.size() + at_a_time - 1) / at_a_time : 1;
    std::map<GraphNode, double> ends_us;
    for (size_t round = 0; round <= edges.size(); ++round) {
      for (const GraphNode node : nodes) {
        double begins_us = 0;
        for (const GraphEdge& edge : edges) {
          if (edge.to != node) continue;
          const bool crosses = from[edge.from] > 1 || to[edge.to] > 1;
          begins_us = std::max(begins_us, ends_us[edge.from] + (crosses ? cross_us : 0));
        }
        ends_us[node] = begins_us + UsOfNode(node);
      }
    }
    double longest_us = 0;
    for (const auto& [node, us] : ends_us) longest_us = std::max(longest_us, us);
    return start_us + static_cast<double>(rounds) * longest_us;
  }
};

class GraphCostsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!NvrtcVersion().ok()) GTEST_SKIP() << "libnvrtc.so.13 is not here";
  }

  Result<GraphCosts> Measure() {
    const Result<DeviceFacts> facts = runtime_.Describe();
    if (!facts.ok()) return facts.error();
    const Result<Stream> stream = runtime_.CreateStream(0);
    if (!stream.ok()) return stream.error();
    const OwnedStream owned(&runtime_, stream.value());
    ++measured_;
    return MeasureGraphCosts(&runtime_, facts.value(), stream.value(), [this](Stream) {
      ++evicted_;
      return Ok();
    });
  }

  simulated_gpu::SimulatedDriver driver_;
  CostlyRuntime runtime_{0, &driver_.library()};
  int measured_ = 0;
  int evicted_ = 0;
};

class MapCache : public KernelCache {
 public:
  std::optional<std::string> Find(const std::string& key) override {
    const auto found = kept.find(key);
    return found == kept.end() ? std::nullopt : std::optional(found->second);
  }
  void Keep(const std::vector<std::string>& keys, const std::string& code) override {
    for (const std::string& key : keys) kept[key] = code;
  }
  std::map<std::string, std::string> kept;
};

TEST_F(GraphCostsTest, AreWhatTheDeviceTakes) {
  Result<GraphCosts> costs = Measure();
  ASSERT_TRUE(costs.ok()) << costs.error().message;
  EXPECT_NEAR(costs.value().start_us, 7.5, 1e-6);
  EXPECT_NEAR(costs.value().cross_stream_us, 1.25, 1e-6);
  EXPECT_EQ(costs.value().streams, 16) << "no more are counted";
  // Two mebibytes are read and as many written within 80 us.
  EXPECT_NEAR(costs.value().copied_bytes_per_us, 4.0 * (1 << 20) / 80, 1e-3);
  EXPECT_EQ(evicted_, 2 * 15);
  runtime_.cross_us = 0;
  runtime_.at_a_time = 6;
  costs = Measure();
  ASSERT_TRUE(costs.ok()) << costs.error().message;
  EXPECT_NEAR(costs.value().cross_stream_us, 0, 1e-6);
  EXPECT_EQ(costs.value().streams, 4);
}

// A device may be nearly full, and its clock be too coarse.
TEST_F(GraphCostsTest, MemoryOfWhichNothingIsKnownHasNoRate) {
  runtime_.l2_bytes = int64_t{1} << 50;
  const Result<GraphCosts> full = Measure();
  ASSERT_TRUE(full.ok()) << full.error().message;
  EXPECT_EQ(full.value().copied_bytes_per_us, 0);
  runtime_.l2_bytes = int64_t{1} << 20;
  runtime_.copy_us = 0;
  const Result<GraphCosts> coarse = Measure();
  ASSERT_TRUE(coarse.ok()) << coarse.error().message;
  EXPECT_EQ(coarse.value().copied_bytes_per_us, 0);
}

TEST_F(GraphCostsTest, AreMeasuredOnceForAFingerprint) {
  MapCache cache;
  const auto find = [&](const char* fingerprint) {
    return FindGraphCosts(&cache, fingerprint, [&] { return Measure(); });
  };
  const Result<GraphCosts> first = find("cuda;_one");
  ASSERT_TRUE(first.ok()) << first.error().message;
  runtime_.cross_us = 3;
  EXPECT_EQ(find("cuda;_one").value(), first.value());
  EXPECT_EQ(measured_, 1);
  EXPECT_NEAR(find("cuda;_two").value().cross_stream_us, 3, 1e-6);
  // What is no such text is measured again.
  cache.kept.begin()->second = "damaged";
  EXPECT_NEAR(find("cuda;_one").value().cross_stream_us, 3, 1e-6);
  EXPECT_EQ(measured_, 3);
}

TEST(GraphCostsTextTest, IsReadBackAndNothingElseIs) {
  const GraphCosts costs = {
      .start_us = 7.1, .cross_stream_us = 1.0 / 3, .streams = 8, .copied_bytes_per_us = 4e6 / 3};
  const std::string text = PrintGraphCosts(costs);
  EXPECT_EQ(ParseGraphCosts(text), costs);
  for (const char* wrong :
       {"", "plait graph costs 2", "plait graph costs 1\t1\t1\t1",
        "plait graph costs 2\t1\t1\t0\t1", "plait graph costs 2\t1\t1\t17\t1",
        "plait graph costs 2\tnan\t1\t1\t1", "plait graph costs 2\t1\t-1\t1\t1",
        "plait graph costs 2\t1\t1e9\t1\t1", "plait graph costs 2\t1\t1\t1\t-1",
        "plait graph costs 2\t1\t1\t1\tinf", "plait graph costs 2\t1\t1\t1\t1\t1"}) {
    EXPECT_EQ(ParseGraphCosts(wrong), std::nullopt) << wrong;
  }
}

}  // namespace
}  // namespace plait::cuda
