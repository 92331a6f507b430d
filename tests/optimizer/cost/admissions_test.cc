#include "optimizer/cost/admissions.h"

#include <cmath>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "absl/strings/substitute.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

constexpr LayerError kSmall = {.error = 1e-7};
constexpr LayerError kLarge = {.error = 1e-3};

// A product that is the second node, with a value and weights of these.
Graph ProductGraph(const std::string& op, const std::string& shape, int weights) {
  const absl::StatusOr<Graph> graph = ParseTypedGraph(absl::Substitute(R"(graph {
    input %in: float32[$1]
    const %weights: float32[8,8] = synthetic $2
    %first = Relu(%in) {}
    %product = $0
    output %product
  })",
                                                                       op, shape, weights));
  PLAIT_CHECK(graph.ok());
  return *graph;
}

constexpr char kMatMul[] = "MatMul(%first, %weights) {}";

Kernel KernelAt(NodeId node, const std::string& family = "digits") {
  Kernel kernel;
  kernel.family = family;
  kernel.variant = "a";
  kernel.nodes = {node};
  return kernel;
}

TEST(AdmissionsTest, AreUnknownUntilMeasured) {
  const Graph graph = ProductGraph(kMatMul, "2,8", 1);
  Admissions admissions;
  EXPECT_EQ(admissions.Of(graph, KernelAt(1)), Admission::kUnknown);
  EXPECT_EQ(admissions.Find(graph, KernelAt(1)), nullptr);
  admissions.Add(graph, KernelAt(1), kSmall);
  EXPECT_EQ(admissions.Of(graph, KernelAt(1)), Admission::kAdmitted);
  EXPECT_EQ(*admissions.Find(graph, KernelAt(1)), kSmall);
}

TEST(AdmissionsTest, RefuseALargeError) {
  const Graph graph = ProductGraph(kMatMul, "2,8", 1);
  Admissions admissions;
  admissions.Add(graph, KernelAt(1), kLarge);
  EXPECT_EQ(admissions.Of(graph, KernelAt(1)), Admission::kRefused);
}

// One result that became infinite must not cost the layers beside it what they may lose.
TEST(AdmissionsTest, RefuseWhatLosesAllAtAnyPrice) {
  const Graph graph = ProductGraph(kMatMul, "2,8", 1);
  for (const auto& [error, admission] : {std::pair(1e-3, Admission::kAdmitted),
                                         {1.0, Admission::kRefused},
                                         {1e30, Admission::kRefused},
                                         {std::nan(""), Admission::kRefused}}) {
    Admissions admissions;
    admissions.SetPrice(0);
    admissions.Add(graph, KernelAt(1), {.error = error});
    EXPECT_EQ(admissions.Of(graph, KernelAt(1)), admission) << error;
  }
}

TEST(AdmissionsTest, MayTakeUnknownForRefused) {
  const Graph graph = ProductGraph(kMatMul, "2,8", 1);
  Admissions admissions;
  admissions.Add(graph, KernelAt(1), kSmall);
  admissions.RefuseUnknown();
  EXPECT_EQ(admissions.Of(graph, KernelAt(1)), Admission::kAdmitted);
  EXPECT_EQ(admissions.Of(graph, KernelAt(1, "other")), Admission::kRefused);
}

TEST(AdmissionsTest, KeepTheWorstOfALayerAtSeveralPlaces) {
  const Graph graph = ProductGraph(kMatMul, "2,8", 1);
  for (const auto& [first, second] : {std::pair(kSmall, kLarge), std::pair(kLarge, kSmall)}) {
    Admissions admissions;
    admissions.Add(graph, KernelAt(1), first);
    admissions.Add(graph, KernelAt(1), second);
    EXPECT_EQ(*admissions.Find(graph, KernelAt(1)), kLarge);
  }
  // More than the other, but no more than a serial sum.
  Admissions admissions;
  const LayerError refused = {.error = 2e-6};
  admissions.Add(graph, KernelAt(1), refused);
  admissions.Add(graph, KernelAt(1), {.error = 1e-3, .serial_error = 1e-3});
  EXPECT_EQ(*admissions.Find(graph, KernelAt(1)), refused);
}

TEST(AdmissionsTest, KnowALayerInAnotherGraphByOtherNames) {
  Admissions admissions;
  admissions.Add(ProductGraph(kMatMul, "2,8", 1), KernelAt(1), kSmall);
  const absl::StatusOr<Graph> other = ParseTypedGraph(R"(graph {
    input %x: float32[2,8]
    const %v: float32[8,8] = synthetic 1
    %y = MatMul(%x, %v) {}
    %z = Relu(%y) {}
    output %z
  })");
  ASSERT_TRUE(other.ok()) << other.status();
  Kernel kernel = KernelAt(0);
  kernel.nodes = {0, 1};
  kernel.width = 4;
  kernel.output_formats = {Format::kChannelsLast};
  EXPECT_EQ(admissions.Of(*other, kernel), Admission::kAdmitted);
}

TEST(AdmissionsTest, TellApartWhateverMayChangeAnError) {
  Admissions admissions;
  admissions.Add(ProductGraph(kMatMul, "2,8", 1), KernelAt(1), kSmall);
  const auto is_unknown = [&](const Graph& graph, const Kernel& kernel) {
    return admissions.Of(graph, kernel) == Admission::kUnknown;
  };
  EXPECT_TRUE(is_unknown(ProductGraph(kMatMul, "2,8", 2), KernelAt(1))) << "weights";
  EXPECT_TRUE(is_unknown(ProductGraph(kMatMul, "3,8", 1), KernelAt(1))) << "shape";
  EXPECT_TRUE(is_unknown(ProductGraph("Gemm(%first, %weights) {}", "2,8", 1), KernelAt(1)))
      << "operator";
  const Graph same = ProductGraph(kMatMul, "2,8", 1);
  EXPECT_TRUE(is_unknown(same, KernelAt(1, "winograd"))) << "family";
  Kernel variant = KernelAt(1);
  variant.variant = "b";
  EXPECT_TRUE(is_unknown(same, variant)) << "variant";

  const Graph gemm = ProductGraph("Gemm(%first, %weights) {transB=0}", "8,8", 1);
  admissions.Add(gemm, KernelAt(1), kSmall);
  EXPECT_FALSE(is_unknown(gemm, KernelAt(1)));
  EXPECT_TRUE(is_unknown(ProductGraph("Gemm(%first, %weights) {transB=1}", "8,8", 1), KernelAt(1)))
      << "attributes";
}

}  // namespace
}  // namespace plait
