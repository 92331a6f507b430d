#include <memory>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bench/search/described_search.h"
#include "gpu_worker/backends/catalogs.h"
#include "optimizer/cost/described_device.h"
#include "optimizer/cost/kernel_blocks.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/search/optimize.h"
#include "optimizer/search/plan_graph.h"

namespace plait {
namespace {

// A residual block, a separable convolution with what is in front of it, a concatenation, and a
// head with a softmax.
constexpr char kNet[] = R"(graph {
  input %x: float32[1,16,28,28]
  const %w0: float32[16,16,3,3] = synthetic 1
  const %b0: float32[16] = synthetic 2
  const %w1: float32[16,1,3,3] = synthetic 3
  const %w2: float32[32,16,1,1] = synthetic 4
  const %m: float32[48,10] = synthetic 5
  %c = Conv(%x, %w0, %b0) {pads=[1,1,1,1]}
  %d = Add(%c, %x) {}
  %e = Relu(%d) {}
  %f = Conv(%e, %w0, %b0) {pads=[1,1,1,1]}
  %g = Relu(%f) {}
  %h = Conv(%g, %w1) {group=16, pads=[1,1,1,1]}
  %i = Conv(%h, %w2) {}
  %j = MaxPool(%e) {kernel_shape=[3,3], pads=[1,1,1,1]}
  %k = Concat(%i, %j) {axis=1}
  %l = GlobalAveragePool(%k) {}
  %o = Flatten(%l) {}
  %p = MatMul(%o, %m) {}
  %q = Softmax(%p) {}
  output %q
})";

class ModelCatalogTest : public testing::Test {
 protected:
  ModelCatalogTest() {
    catalog_ = *CatalogFor(device_);
    graph_ = *ParseTypedGraph(kNet);
  }

  absl::StatusOr<PlannedGraph> Planned(bool fused) {
    DescribedProfiler profiler(kH200Device);
    MeasurementLog log;
    ProfileCache profiles(profiler, log);
    UnlimitedBudget budget;
    BudgetedProfiles budgeted(profiles, budget, log);
    const SearchDevice device = {device_, *catalog_, profiles, ScheduleDeviceOf(device_)};
    const PlanBinding binding = {device_.fingerprint, "test", device_.threads};
    if (!fused) return PlanBaseline(graph_, device, binding, budgeted);
    auto plans = PlanFused(graph_, device, binding, kPlaitPolicy, budgeted);
    if (!plans.ok()) return plans.status();
    return plans->front();
  }

  // "conv Conv+Add+Relu" of each step but views.
  std::string StepsOf(const Plan& plan) const {
    std::string text;
    for (const Step& step : plan.steps) {
      if (step.kernel.family == kViewFamily) continue;
      const std::string ops =
          absl::StrJoin(step.kernel.nodes, "+", [&](std::string* out, NodeId node) {
            absl::StrAppend(out, OpKindName(graph_.node(node).op));
          });
      absl::StrAppend(&text, step.kernel.family, " ", ops, "\n");
    }
    return text;
  }

  const DeviceDescription device_ = DescriptionOf(kH200Device);
  std::unique_ptr<KernelCatalog> catalog_;
  Graph graph_;
};

TEST_F(ModelCatalogTest, OffersFormsAndNothingOfAProcessor) {
  DescribedProfiler profiler(kH200Device);
  for (NodeId node = 0; node < graph_.node_count(); ++node) {
    const std::vector<Kernel> kernels = catalog_->KernelsAt(graph_, node, true);
    ASSERT_FALSE(kernels.empty());
    EXPECT_EQ(kernels.front().nodes, std::vector<NodeId>{node});
    for (const Kernel& kernel : kernels) {
      SCOPED_TRACE(kernel.family);
      EXPECT_TRUE(kernel.variant == "strict/auto" || kernel.family == kViewFamily ||
                  kernel.family == "other");
      EXPECT_EQ(kernel.width, 1);
      EXPECT_FALSE(catalog_->NeedsAdmission(kernel));
      std::vector<Format> formats = kernel.input_formats;
      formats.insert(formats.end(), kernel.output_formats.begin(), kernel.output_formats.end());
      for (const Format format : formats) {
        EXPECT_TRUE(format == Format::kPlain || format == Format::kChannelsLast);
      }
      const ProfileKey key =
          KernelProfileKey(graph_, kernel, {device_.fingerprint, catalog_->Version(kernel.family)});
      const auto profiles = profiler.Measure({{key}});
      ASSERT_TRUE(profiles.ok());
      EXPECT_EQ(profiles->front().samples, 1);
    }
  }
}

TEST_F(ModelCatalogTest, FusesWhatFollowsAndWhatIsInFrontOfASeparableConvolution) {
  const absl::StatusOr<PlannedGraph> planned = Planned(true);
  ASSERT_TRUE(planned.ok()) << planned.status();
  const std::string steps = StepsOf(planned->plan);
  EXPECT_NE(steps.find("conv Conv+Add+Relu\n"), std::string::npos) << steps;
  EXPECT_NE(steps.find("Conv+Conv\n"), std::string::npos) << steps;
  EXPECT_TRUE(CheckPlan(planned->plan, graph_).ok());
}

TEST_F(ModelCatalogTest, ThePlanIsBoundToTheDeviceAndNothingInItRunsAlone) {
  const absl::StatusOr<PlannedGraph> planned = Planned(true);
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_EQ(planned->plan.device_fingerprint, "model;_h200");
  EXPECT_EQ(planned->plan.threads, 132);
  for (const Step& step : planned->plan.steps) EXPECT_EQ(step.kernel.width, 1);
  const absl::StatusOr<PlannedGraph> baseline = Planned(false);
  ASSERT_TRUE(baseline.ok()) << baseline.status();
  EXPECT_LT(planned->predicted_us, baseline->predicted_us);
}

// Every kernel of plait's own that usual layers bring has its line in the table, for each device.
TEST_F(ModelCatalogTest, TheTableHasTheKernelsThatAreOffered) {
  std::set<std::string> known;
  for (const DescribedDevice* described : DescribedDevices()) {
    const auto catalog = *CatalogFor(DescriptionOf(*described));
    for (NodeId node = 0; node < graph_.node_count(); ++node) {
      for (const Kernel& kernel : catalog->KernelsAt(graph_, node, true)) {
        const auto lone = LoneKernelOf(KernelProfileKey(graph_, kernel, {}));
        ASSERT_TRUE(lone.ok()) << lone.status();
        const auto blocks =
            BlocksOf(*lone, described->multiprocessors, described->multiprocessor, catalog.get());
        ASSERT_TRUE(blocks.has_value());
        if (blocks->resources_of.empty()) continue;  // a library's
        EXPECT_TRUE(absl::StrContains(blocks->resources_of, '/')) << blocks->resources_of;
        known.insert(blocks->resources_of.substr(0, blocks->resources_of.find('/')));
      }
    }
  }
  EXPECT_THAT(known, testing::IsSupersetOf(
                         {"depthwise", "elementwise", "movement", "pool", "rows", "separable"}));
}

// A plan's implementation, too.
TEST_F(ModelCatalogTest, TheKernelThatAVariantNamesIsMeant) {
  Kernel kernel = catalog_->KernelsAt(graph_, 0, false).front();
  kernel.variant = "strict/generated/depthwise/v4/p4";
  EXPECT_EQ(catalog_->GeneratedName(graph_, kernel), "depthwise/v4/p4");
  kernel.variant = "strict/cudnn/eng0";
  EXPECT_EQ(catalog_->GeneratedName(graph_, kernel), "");
}

TEST_F(ModelCatalogTest, ASearchDecidesByPredictionsOnAnyNumberOfThreads) {
  std::set<std::string> plans;
  for (const int threads : {1, 2}) {
    const absl::StatusOr<SearchResult> result =
        SearchDescribed(graph_, kH200Device, PredictionDetail::kBlocks, threads);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_TRUE(result->improved);
    EXPECT_TRUE(result->plan.predicted && result->baseline_plan.predicted);
    EXPECT_EQ(result->speedup.median, result->predicted_baseline_us / result->predicted_us);
    EXPECT_TRUE(result->optimized_latency_us.empty());
    plans.insert(PrintPlan(result->plan));
  }
  EXPECT_EQ(plans.size(), 1u);
}

}  // namespace
}  // namespace plait
