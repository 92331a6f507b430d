#include "optimizer/cover/node_offers.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/fakes/fake_device.h"

namespace plait {
namespace {

using testing::ElementsAre;

// A device that multiplies in fp32, and in fewer digits where accuracy may be lost.
class RoundingCatalog : public FakeCatalog {
 public:
  using FakeCatalog::FakeCatalog;
  bool NeedsAdmission(const Kernel& kernel) const override { return kernel.variant == "rough"; }
  std::optional<std::string> LessExact(const Kernel& kernel) const override {
    if (kernel.variant == "rough") return std::nullopt;
    return "rough";
  }
};

class NodeOffersTest : public testing::Test {
 protected:
  // Nodes and variant of each offer at the node.
  std::vector<std::string> OffersOf(NodeId node) const {
    std::vector<std::string> offers;
    const NodeOffers at = OffersAt(graph_, node,
                                   {.device = device_,
                                    .catalog = catalog_,
                                    .profiles = profiles_,
                                    .fuse = fuse_,
                                    .admissions = &admissions_});
    for (const NodeOffers::Offer& offer : at.offers) {
      EXPECT_EQ(offer.needs_admission, offer.kernel.variant == "rough");
      offers.push_back(absl::StrCat(offer.kernel.nodes.size(), " ", offer.kernel.variant));
    }
    return offers;
  }

  const Graph graph_ = GraphOf(R"(graph {
  input %x: float32[2,8]
  const %w: float32[8,8] = synthetic 1
  %a = MatMul(%x, %w) {}
  %b = Relu(%a) {}
  %t = Transpose(%b) {perm=[1,0]}
  %c = MatMul(%b, %t) {}
  output %c
})");
  const DeviceDescription device_ = FakeDevice(1);
  const RoundingCatalog catalog_{1};
  FakeProfiler profiler_;
  MeasurementLog log_;
  const ProfileCache profiles_{profiler_, log_};
  Admissions admissions_;
  bool fuse_ = true;
};

TEST_F(NodeOffersTest, AKernelThatLosesStandsBesideOneThatDoesNotWhereSomeMayBeLost) {
  EXPECT_THAT(OffersOf(0), ElementsAre("1 ", "2 "));
  admissions_.SetPrice(1);
  EXPECT_THAT(OffersOf(0), ElementsAre("1 ", "1 rough", "2 ", "2 rough"));
  EXPECT_THAT(OffersOf(2), ElementsAre("1 ")) << "no product";
  EXPECT_THAT(OffersOf(3), ElementsAre("1 ")) << "no product with a constant";
  fuse_ = false;
  EXPECT_THAT(OffersOf(0), ElementsAre("1 ")) << "the baseline";
}

TEST_F(NodeOffersTest, WhatIsRefusedIsNotOffered) {
  admissions_.SetPrice(1);
  Kernel rough = catalog_.KernelsAt(graph_, 0, false).front();
  rough.variant = "rough";
  const double infinity = std::numeric_limits<double>::infinity();
  admissions_.Add(graph_, rough, {.error = infinity});
  EXPECT_THAT(OffersOf(0), ElementsAre("1 ", "2 "));
}

}  // namespace
}  // namespace plait
