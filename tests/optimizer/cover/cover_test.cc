#include "optimizer/cover/cover.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "optimizer/cover/conversions.h"
#include "optimizer/cover/cover_steps.h"
#include "tests/fakes/fake_device.h"
#include "tests/optimizer/cover/cover_tables.h"

namespace plait {
namespace {

// The cheapest choice of all, by trying every one.
double BruteForceUs(const Graph& graph, const KernelTable& table, std::vector<int>& chosen,
                    std::vector<bool>& covered) {
  const auto open = std::find(covered.begin(), covered.end(), false);
  if (open == covered.end()) {
    if (!CanRun(graph, table, chosen)) return std::numeric_limits<double>::infinity();
    return MakeCover(graph, table, {}, chosen).latency_us;
  }
  double best_us = std::numeric_limits<double>::infinity();
  for (const int group : table.groups_at[open - covered.begin()]) {
    const std::vector<NodeId>& nodes = table.groups[group].nodes;
    if (std::any_of(nodes.begin(), nodes.end(), [&](NodeId node) { return covered[node]; }))
      continue;
    for (const NodeId node : nodes) covered[node] = true;
    chosen.push_back(group);
    best_us = std::min(best_us, BruteForceUs(graph, table, chosen, covered));
    chosen.pop_back();
    for (const NodeId node : nodes) covered[node] = false;
  }
  return best_us;
}

void ExpectOptimal(const Graph& graph, uint64_t seed) {
  Random random(seed);
  const KernelTable table = RandomTable(graph, random);
  const absl::StatusOr<Cover> cover = FindCover(graph, table, {.states_max = 100000});
  ASSERT_TRUE(cover.ok()) << cover.status();
  std::vector<int> chosen;
  std::vector<bool> covered(graph.node_count(), false);
  EXPECT_NEAR(cover->latency_us, BruteForceUs(graph, table, chosen, covered), 1e-9)
      << "seed " << seed;
}

TEST(CoverTest, IsOptimalOnChains) {
  const Graph chain = GraphOf(R"(graph {
    input %x: float32[1,2,3,3]
    %a = Relu(%x) {}
    %b = Exp(%a) {}
    %c = Tanh(%b) {}
    %d = Sigmoid(%c) {}
    %e = Sqrt(%d) {}
    output %e
  })");
  for (uint64_t seed = 0; seed < 20; ++seed) ExpectOptimal(chain, seed);
}

TEST(CoverTest, IsOptimalOnBranchesWhenTheBeamIsWide) {
  const Graph branches = GraphOf(R"(graph {
    input %x: float32[1,2,3,3]
    %a = Relu(%x) {}
    %b = Exp(%a) {}
    %c = Tanh(%a) {}
    %d = Add(%b, %c) {}
    %e = Mul(%d, %a) {}
    output %e, %c
  })");
  for (uint64_t seed = 0; seed < 20; ++seed) ExpectOptimal(branches, seed);
}

TEST(CoverTest, IsOptimalWhereGroupsCouldWaitForEachOther) {
  // {a, d} and {b, c} each make sense, but a->b, c->d: together they would wait in a circle.
  const Graph crossing = GraphOf(R"(graph {
    input %x: float32[1,2,3,3]
    %a = Relu(%x) {}
    %b = Exp(%x) {}
    %c = Add(%a, %b) {}
    %d = Mul(%b, %a) {}
    %e = Sub(%c, %d) {}
    output %e
  })");
  for (uint64_t seed = 0; seed < 20; ++seed) ExpectOptimal(crossing, seed);
}

// Measures nothing; says of some kernels that they cannot run.
class RefusingProfiler : public FakeProfiler {
 public:
  absl::StatusOr<std::vector<Profile>> Measure(absl::Span<const ProfileRequest> requests) override {
    absl::StatusOr<std::vector<Profile>> profiles = FakeProfiler::Measure(requests);
    for (size_t i = 0; i < requests.size(); ++i) {
      if (refuses(requests[i].key)) profiles->at(i).samples = 0;
    }
    return profiles;
  }

  std::function<bool(const ProfileKey&)> refuses;
};

class MeasuredCoverTest : public testing::Test {
 protected:
  // The cover of `graph` by a fake device, as text.
  std::string CoverText(const Graph& graph, bool fuse) {
    const DeviceDescription device = FakeDevice(1);
    const FakeCatalog catalog(1, true);
    const KernelTableOptions options{device, catalog, db_, fuse};
    std::vector<ProfileQuery> missing;
    const KernelOffers offers(graph, options);
    offers.AppendMissing(/*single_nodes=*/false, &missing);
    EXPECT_TRUE(db_.Resolve(missing).ok());
    missing.clear();
    offers.AppendMissing(/*single_nodes=*/false, &missing);
    EXPECT_TRUE(missing.empty());
    const KernelTable table = offers.Table();
    const absl::StatusOr<Cover> cover = FindCover(graph, table, {});
    if (!cover.ok()) return std::string(cover.status().message());
    std::string text;
    for (const CoverStep& step : cover->steps) {
      text += step.group.nodes.empty() ? "reorder" : "nodes";
      for (const NodeId node : step.group.nodes) text += " " + std::to_string(node);
      text += step.outputs[0].format == Format::kPlain ? " plain\n" : " last\n";
    }
    return text;
  }

  MeasurementLog log_;
  FakeProfiler profiler_;
  ProfileCache db_{profiler_, log_};
};

constexpr char kConvs[] = R"(graph {
  input %x: float32[1,4,8,8]
  const %w: float32[4,4,1,1] = synthetic 1
  %a = Conv(%x, %w) {}
  %b = Relu(%a) {}
  %c = Conv(%b, %w) {}
  %d = Relu(%c) {}
  output %d
})";

TEST_F(MeasuredCoverTest, EntersAndLeavesTheFasterFormatOnce) {
  EXPECT_EQ(CoverText(GraphOf(kConvs), true),
            "reorder last\nnodes 0 1 last\nnodes 2 3 last\nreorder plain\n");
}

TEST_F(MeasuredCoverTest, TheBaselineHasTheSameFreedomOfFormats) {
  EXPECT_EQ(CoverText(GraphOf(kConvs), false),
            "reorder last\nnodes 0 last\nnodes 1 last\nnodes 2 last\nnodes 3 last\n"
            "reorder plain\n");
}

TEST_F(MeasuredCoverTest, StaysWhereReorderingCostsMoreThanItBrings) {
  profiler_.node_us["Conv"] = 3;
  profiler_.node_us["Relu"] = 1;
  EXPECT_EQ(CoverText(GraphOf(kConvs), true), "nodes 0 1 plain\nnodes 2 3 plain\n");
}

TEST_F(MeasuredCoverTest, EqualKernelsAreMeasuredOnce) {
  CoverText(GraphOf(kConvs), false);
  // Conv and Relu in two formats, and two reorders.
  EXPECT_EQ(db_.profiles_measured(), 6);
}

// What AppendNeeded asks for until it has nothing to ask: families, widths and formats.
std::vector<std::vector<std::string>> NeededOf(const KernelOffers& offers, ProfileCache& profiles) {
  std::vector<std::vector<std::string>> rounds;
  while (rounds.size() < 9) {
    std::vector<ProfileQuery> needed;
    offers.AppendNeeded(&needed);
    if (needed.empty()) break;
    std::vector<std::string>& round = rounds.emplace_back();
    for (const ProfileQuery& query : needed) {
      const bool is_conv = absl::StrContains(query.key.graph_text, "Conv(");
      const bool is_relu = absl::StrContains(query.key.graph_text, "Relu(");
      round.push_back(absl::StrCat(is_conv   ? "Conv"
                                   : is_relu ? "Relu"
                                             : "reorder",
                                   " ", query.key.width, " ", query.key.formats));
    }
    EXPECT_TRUE(profiles.Resolve(needed).ok());
  }
  return rounds;
}

TEST_F(MeasuredCoverTest, NeedsOneKernelForEachNodeTheWidestFirst) {
  const DeviceDescription device = FakeDevice(2);
  const FakeCatalog catalog(2, true);
  const Graph graph = GraphOf(kConvs);
  const KernelOffers offers(graph, {device, catalog, db_, true});
  const std::vector<std::string> each = {"Conv 2 plain,plain", "Relu 2 plain,plain",
                                         "Conv 2 plain,plain", "Relu 2 plain,plain"};
  EXPECT_THAT(NeededOf(offers, db_), testing::ElementsAre(each));
  EXPECT_TRUE(FindCover(graph, offers.Table(), {}).ok());
}

TEST_F(MeasuredCoverTest, NeedsAnotherKernelWhereOneCannotRun) {
  RefusingProfiler profiler;
  ProfileCache profiles(profiler, log_);
  const DeviceDescription device = FakeDevice(2);
  const FakeCatalog catalog(2, true);
  const Graph graph = GraphOf(kConvs);
  profiler.refuses = [](const ProfileKey& key) {
    return absl::StrContains(key.graph_text, "Conv(") && key.formats == "plain,plain";
  };
  const KernelOffers offers(graph, {device, catalog, profiles, true});
  const auto rounds = NeededOf(offers, profiles);
  ASSERT_EQ(rounds.size(), 3u);
  EXPECT_THAT(rounds[1], testing::ElementsAre("Conv 1 plain,plain", "Conv 1 plain,plain"));
  // Nothing plain is left: everything that one node can run in, and the reorders for it.
  EXPECT_THAT(rounds[2], testing::IsSupersetOf({"Conv 2 channels_last,channels_last",
                                                "reorder 1 plain,channels_last"}));
  EXPECT_TRUE(FindCover(graph, offers.Table(), {}).ok());
}

class AdmissionTest : public MeasuredCoverTest {
 protected:
  AdmissionTest() {
    catalog_.offers_digits = true;
    kernel_ = catalog_.KernelsAt(graph_, 0, true).back();
  }

  // The families of all kernels that are offered, one time each.
  std::set<std::string> Offered(bool fuse, const Admissions* admissions) {
    const KernelOffers offers(graph_, {device_, catalog_, db_, fuse, admissions});
    std::vector<ProfileQuery> missing;
    offers.AppendMissing(/*single_nodes=*/false, &missing);
    std::set<std::string> families;
    for (const ProfileQuery& query : missing) families.insert(query.key.family);
    return families;
  }

  const DeviceDescription device_ = FakeDevice(1);
  FakeCatalog catalog_{1};
  const Graph graph_ = GraphOf(R"(graph {
    input %x: float32[2,8]
    const %w: float32[8,8] = synthetic 1
    %p = MatMul(%x, %w) {}
    output %p
  })");
  // The product alone, in digits.
  Kernel kernel_;
};

TEST_F(AdmissionTest, OffersWhatIsUnknownOrAdmitted) {
  Admissions admissions;
  const std::set<std::string> all = {"digits", "fake"};
  EXPECT_EQ(Offered(true, nullptr), all);
  EXPECT_EQ(Offered(true, &admissions), all);
  admissions.Add(graph_, kernel_, {.error = 1e-7});
  EXPECT_EQ(Offered(true, &admissions), all);
}

TEST_F(AdmissionTest, OffersNothingThatIsRefused) {
  Admissions admissions;
  admissions.Add(graph_, kernel_, {.error = 1e-3});
  EXPECT_EQ(Offered(true, &admissions), std::set<std::string>{"fake"});
  Admissions unknown;
  unknown.RefuseUnknown();
  EXPECT_EQ(Offered(true, &unknown), std::set<std::string>{"fake"});
}

TEST_F(AdmissionTest, LeavesKernelsOutOfTheTableThatAreMeasuredAndRefused) {
  Admissions admissions;
  const auto groups = [&] {
    const KernelOffers offers(graph_, {device_, catalog_, db_, true, &admissions});
    std::vector<ProfileQuery> missing;
    offers.AppendMissing(/*single_nodes=*/false, &missing);
    EXPECT_TRUE(db_.Resolve(missing).ok());
    return offers.Table().groups;
  };
  profiler_.family_factor = {{"digits", 0.3}};
  EXPECT_EQ(groups().front().whole.kernel.family, "digits");
  admissions.Add(graph_, kernel_, {.error = 1e-3});
  EXPECT_EQ(groups().front().whole.kernel.family, "fake");
}

TEST_F(AdmissionTest, TheBaselineHasNone) {
  Admissions admissions;
  admissions.Add(graph_, kernel_, {.error = 1e-7});
  EXPECT_EQ(Offered(false, &admissions), std::set<std::string>{"fake"});
}

// Whatever is refused later, there must be a kernel left.
TEST_F(AdmissionTest, NeedsAKernelThatCannotBeRefused) {
  const KernelOffers offers(graph_, {device_, catalog_, db_, true});
  ASSERT_TRUE(db_.Resolve({{KernelFingerprint(StructureFingerprint(graph_, kernel_.nodes), kernel_),
                            KernelProfileKey(graph_, kernel_, {device_.fingerprint, "1"})}})
                  .ok());
  std::vector<ProfileQuery> needed;
  offers.AppendNeeded(&needed);
  ASSERT_EQ(needed.size(), 1u);
  EXPECT_EQ(needed[0].key.family, "fake");
}

TEST(ConversionTest, MakesWhatIsMissingFromWhatIsThere) {
  const Graph graph =
      GraphOf("graph {\n input %x: float32[1,2,3,3]\n %y = Relu(%x) {}\n output %y\n}");
  Random random(1);
  KernelTable table = RandomTable(graph, random);
  const FormatMask plain = MaskOf(Format::kPlain), last = MaskOf(Format::kChannelsLast);
  const auto convert = [&](FormatMask available, FormatMask wanted) {
    return CheapestConversions(CoverTableOf(table), CoverWidth::kPart, 0, available, wanted);
  };
  EXPECT_TRUE(convert(plain, plain).empty());
  EXPECT_TRUE(convert(kAnyFormat, last).empty());
  const Conversions one = convert(plain, plain | last);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].from, Format::kPlain);
  EXPECT_EQ(one[0].to, Format::kChannelsLast);
  const KernelGroup& reorder = *table.FindReorder(0, Format::kPlain, Format::kChannelsLast);
  EXPECT_EQ(one[0].latency_us, reorder.part.latency_us);
  table.reorders[0].clear();
  ASSERT_EQ(convert(plain, last).size(), 1u);
  EXPECT_FALSE(convert(plain, last)[0].can_run());
}

// A budget that ended before any reorder was measured.
TEST(CoverTest, GoesOnInPlainWhereTheBestKernelsLeadNowhere) {
  const Graph chain = GraphOf(R"(graph {
    input %x: float32[1,2,3,3]
    %a = Relu(%x) {}
    %b = Exp(%a) {}
    %c = Tanh(%b) {}
    output %c
  })");
  KernelTable table;
  table.groups_at.resize(chain.node_count());
  table.reorders.resize(chain.tensor_count());
  for (NodeId node = 0; node < chain.node_count(); ++node) {
    AddGroup(chain, {node}, Format::kPlain, Format::kPlain, 10, table);
    AddGroup(chain, {node}, Format::kPlain, Format::kChannelsLast, 1, table);
  }
  const absl::StatusOr<Cover> cover = FindCover(chain, table, {.states_max = 1});
  ASSERT_TRUE(cover.ok()) << cover.status();
  EXPECT_EQ(cover->latency_us, 30);
}

TEST(CoverErrorTest, NamesTheNodeWithoutAKernel) {
  const Graph graph = GraphOf("graph {\n input %x: float32[4]\n %y = Relu(%x) {}\n output %y\n}");
  KernelTable table;
  table.groups_at.resize(1);
  table.reorders.resize(graph.tensor_count());
  const absl::StatusOr<Cover> cover = FindCover(graph, table, {});
  EXPECT_EQ(cover.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(std::string(cover.status().message()).find("Relu"), std::string::npos);
}

}  // namespace
}  // namespace plait
