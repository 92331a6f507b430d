#include <deque>
#include <memory>

#include <gtest/gtest.h>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "gpu_worker/backends/catalogs.h"
#include "optimizer/cost/described_device.h"
#include "optimizer/cover/graph_kernels.h"
#include "optimizer/ir/text.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/search/region_search.h"

// A search takes the kernels of most nodes over from the graph that it has rewritten. That is right
// as long as catalogs ask of a graph what GraphReads notes; here every graph that some steps lead
// to is asked for all of its kernels too.
namespace plait {
namespace {

// Branches that are merged, a residual sum, a separable convolution, and a head.
constexpr char kImages[] = R"(graph {
  input %x: float32[1,16,14,14]
  const %w0: float32[16,16,3,3] = synthetic 1
  const %b0: float32[16] = synthetic 2
  const %w1: float32[16,1,3,3] = synthetic 3
  const %w2: float32[32,16,1,1] = synthetic 4
  const %w3: float32[48,16,1,1] = synthetic 5
  const %w4: float32[16,48,1,1] = synthetic 6
  const %m: float32[64,10] = synthetic 7
  %c = Conv(%x, %w0, %b0) {pads=[1,1,1,1]}
  %d = Add(%c, %x) {}
  %e = Relu(%d) {}
  %f = Conv(%e, %w0, %b0) {pads=[1,1,1,1]}
  %g = Relu(%f) {}
  %h = Conv(%g, %w1) {group=16, pads=[1,1,1,1]}
  %i = Conv(%h, %w2) {}
  %i2 = Relu(%i) {}
  %n = Conv(%e, %w3) {}
  %n2 = Relu(%n) {}
  %n3 = Conv(%n2, %w4) {}
  %j = MaxPool(%e) {kernel_shape=[3,3], pads=[1,1,1,1]}
  %k = Concat(%i2, %n3, %j) {axis=1}
  %s = Sigmoid(%k) {}
  %t = Mul(%k, %s) {}
  %l = GlobalAveragePool(%t) {}
  %o = Flatten(%l) {}
  %p = MatMul(%o, %m) {}
  %q = Softmax(%p) {}
  output %q
})";

// Attention with what exporters write around it, and a layer behind it.
constexpr char kTokens[] = R"(graph {
  input %x: float32[1,8,32]
  const %wq: float32[32,32] = synthetic 1
  const %wk: float32[32,32] = synthetic 2
  const %wv: float32[32,32] = synthetic 3
  const %bq: float32[32] = synthetic 4
  const %w1: float32[32,64] = synthetic 5
  const %w2: float32[64,32] = synthetic 6
  const %scale: float32[] = [0.25]
  const %heads: int64[4] = [1,8,2,16]
  const %back: int64[3] = [1,8,32]
  %q0 = MatMul(%x, %wq) {}
  %q1 = Add(%q0, %bq) {}
  %k0 = MatMul(%x, %wk) {}
  %v0 = MatMul(%x, %wv) {}
  %q2 = Reshape(%q1, %heads) {}
  %k2 = Reshape(%k0, %heads) {}
  %v2 = Reshape(%v0, %heads) {}
  %q3 = Transpose(%q2) {perm=[0,2,1,3]}
  %k3 = Transpose(%k2) {perm=[0,2,3,1]}
  %v3 = Transpose(%v2) {perm=[0,2,1,3]}
  %s0 = MatMul(%q3, %k3) {}
  %s1 = Mul(%s0, %scale) {}
  %s2 = Softmax(%s1) {axis=-1}
  %m0 = MatMul(%s2, %v3) {}
  %m1 = Transpose(%m0) {perm=[0,2,1,3]}
  %m2 = Reshape(%m1, %back) {}
  %a = Add(%m2, %x) {}
  %f0 = MatMul(%a, %w1) {}
  %f1 = Gelu(%f0) {}
  %f2 = MatMul(%f1, %w2) {}
  %y = Add(%f2, %a) {}
  output %y
})";

// A recurrence in single nodes, whose family counts ids, beside two convolution-like products.
constexpr char kSteps[] = R"(graph {
  input %x: float32[3,32]
  input %z: float32[3,32]
  const %w: float32[32,32] = synthetic 1
  const %v: float32[32,32] = synthetic 2
  %p = MatMul(%x, %w) {}
  %r = MatMul(%x, %v) {}
  %f = Sigmoid(%p) {}
  %f0, %f1, %f2 = Split(%f) {axis=0, num_outputs=3}
  %z0, %z1, %z2 = Split(%z) {axis=0, num_outputs=3}
  %m1 = Mul(%f1, %z0) {}
  %c1 = Add(%m1, %z1) {}
  %m2 = Mul(%f2, %c1) {}
  %c2 = Add(%m2, %z2) {}
  %c = Concat(%z0, %c1, %c2) {axis=0}
  %t = Tanh(%c) {}
  %y = Mul(%t, %r) {}
  output %y
})";

// Every kernel takes some time of its own.
class HashingProfiler : public Profiler {
 public:
  absl::StatusOr<std::vector<Profile>> Measure(absl::Span<const ProfileRequest> requests) override {
    std::vector<Profile> profiles;
    for (const ProfileRequest& request : requests) {
      const Fingerprint hash = FingerprintBuilder().Add(request.key.ToString()).Finish();
      Profile profile;
      profile.samples = hash.high % 17 == 0 ? 0 : 10;
      profile.latency_us_median = 1 + static_cast<double>(hash.low % 1000) / 100;
      profiles.push_back(profile);
    }
    return profiles;
  }
};

DeviceDescription TwoThreads() {
  DeviceDescription device;
  device.backend = "cpu";
  device.fingerprint = "hashed";
  device.instruction_set = "avx512";
  device.threads = 2;
  return device;
}

void ExpectEqual(const CoverTable& table, const CoverTable& full) {
  ASSERT_EQ(table.first_group_at, full.first_group_at);
  for (size_t i = 0; i < full.groups.size(); ++i) {
    const CoverGroup& a = table.groups[i];
    const CoverGroup& b = full.groups[i];
    EXPECT_EQ(a.nodes, b.nodes);
    EXPECT_EQ(a.inputs, b.inputs);
    EXPECT_EQ(a.outputs, b.outputs);
    EXPECT_EQ(a.input_formats, b.input_formats);
    EXPECT_EQ(a.output_formats, b.output_formats);
    EXPECT_EQ(a.latency.whole_us, b.latency.whole_us);
    EXPECT_EQ(a.latency.part_us, b.latency.part_us);
    EXPECT_EQ(a.cost.whole_us, b.cost.whole_us);
    EXPECT_EQ(a.cost.part_us, b.cost.part_us);
  }
  for (TensorId tensor = 0; tensor < static_cast<TensorId>(full.reorders_of.size()); ++tensor) {
    for (const Format from : kAllFormats) {
      for (const Format to : kAllFormats) {
        EXPECT_EQ(table.ReorderUs(tensor, from, to, CoverWidth::kPart),
                  full.ReorderUs(tensor, from, to, CoverWidth::kPart));
      }
    }
  }
}

struct Case {
  const char* name;
  const char* graph;
  DeviceDescription device;
  double taken_over_min;  // of all nodes
};

class TakenOverKernelsTest : public testing::TestWithParam<Case> {
 protected:
  // Compares the kernels of a graph, taken over and not, and returns them.
  std::shared_ptr<const GraphKernels> Check(const Graph& graph, const PricedGraph* parent) {
    const KernelTableOptions options = RegionTableOptions(device_);
    const KernelOffers offers(graph, options);
    std::vector<ProfileQuery> missing;
    offers.AppendMissing(/*single_nodes=*/false, &missing);
    EXPECT_TRUE(profiles_.Resolve(missing).ok());
    const auto kernels =
        GraphKernels::Of(graph, parent == nullptr ? nullptr : &parent->named,
                         parent == nullptr ? nullptr : parent->kernels.get(), options);
    if (kernels == nullptr) return nullptr;
    const auto owned = kernels->Table(graph, options, reorders_);
    if (!owned.has_value()) return nullptr;
    const KernelTable table = offers.Table();
    ExpectEqual(owned->table, CoverTableOf(table));
    nodes_ += graph.node_count();
    taken_over_ += kernels->taken_over();
    return kernels;
  }

  const std::unique_ptr<KernelCatalog> catalog_ = *CatalogFor(GetParam().device);
  HashingProfiler profiler_;
  MeasurementLog log_;
  ProfileCache profiles_{profiler_, log_};
  const SearchDevice device_ = {GetParam().device, *catalog_, profiles_, {}};
  ReorderTimes reorders_{RegionTableOptions(device_)};
  int nodes_ = 0;
  int taken_over_ = 0;
};

TEST_P(TakenOverKernelsTest, AreThoseOfTheWholeGraph) {
  RuleCounts counts;
  const Graph start = *Canonicalize(*ParseTypedGraph(GetParam().graph), AllRules(), &counts);
  std::deque<PricedGraph> open;
  open.emplace_back(start, Check(start, nullptr));
  ASSERT_NE(open.front().kernels, nullptr);
  nodes_ = 0;
  absl::flat_hash_set<Fingerprint> seen = {start.fingerprint()};
  constexpr size_t kGraphsMax = 150;
  for (; !open.empty() && seen.size() < kGraphsMax; open.pop_front()) {
    const Graph& graph = open.front().named.graph;
    for (const Match& match : MatchIndex(graph).FindMatches(AllRules())) {
      const auto child = ApplyStep(graph, AllRules(), match.rule, match.rewrite, &counts);
      ASSERT_TRUE(child.ok()) << child.status();
      if (!seen.insert(child->fingerprint()).second) continue;
      SCOPED_TRACE(
          absl::StrCat(PrintGraph(graph), AllRules()[match.rule]->name, "\n", PrintGraph(*child)));
      std::shared_ptr<const GraphKernels> kernels = Check(*child, &open.front());
      ASSERT_NE(kernels, nullptr);
      open.emplace_back(*child, std::move(kernels));
      if (testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(seen.size(), 3u);
  EXPECT_GE(taken_over_, GetParam().taken_over_min * nodes_) << taken_over_ << " of " << nodes_;
}

INSTANTIATE_TEST_SUITE_P(
    Catalogs, TakenOverKernelsTest,
    testing::Values(Case{"images_cpu", kImages, TwoThreads(), 0.4},
                    Case{"images_gpu", kImages, DescriptionOf(kH200Device), 0.5},
                    Case{"tokens_cpu", kTokens, TwoThreads(), 0.3},
                    Case{"tokens_gpu", kTokens, DescriptionOf(kH200Device), 0.3},
                    Case{"steps_cpu", kSteps, TwoThreads(), 0.1}),
    [](const testing::TestParamInfo<Case>& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace plait
