#include "gpu_worker/executor/profile_kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "optimizer/kernels/kernel_key.h"
#include "tests/gpu_worker/executor/executor_fixture.h"

namespace plait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using ProfileKernelTest = ExecutorFixture;

TEST_F(ProfileKernelTest, ProfilesEveryOfferedKernelByItsKey) {
  const Graph graph = ParseTyped(R"(graph {
  input %x: float32[1,16,20,20]
  const %w: float32[16,16,3,3] = synthetic 1
  %y = Conv(%x, %w) {kernel_shape=[3,3], pads=[1,1,1,1]}
  %r = Relu(%y)
  output %r
})");
  const std::string& fingerprint = executor_->device().fingerprint;
  const ProfileOptions options{.samples_max = 5};
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    for (const Kernel& kernel : catalog_->KernelsAt(graph, node, true)) {
      const ProfileKey key =
          KernelProfileKey(graph, kernel, {fingerprint, catalog_->Version(kernel.family)});
      const KernelProfile profile = ProfileKernel(*executor_, *LoneKernelOf(key), options);
      EXPECT_EQ(profile.error, "");
      EXPECT_GE(profile.profile.samples, 1);
      EXPECT_GT(profile.profile.latency_us_median, 0);
      EXPECT_GT(profile.profile.bytes, 0);
      EXPECT_GT(profile.profile.flops, 0);
    }
  }
}

TEST_F(ProfileKernelTest, ProfilesReorders) {
  const TensorType type{DataType::kFloat32, {1, 8, 6, 6}};
  const Kernel reorder = catalog_->Reorder(type, Format::kPlain, Format::kChannelsLast);
  const ProfileKey key = ReorderProfileKey(
      type, reorder, {executor_->device().fingerprint, catalog_->Version(reorder.family)});
  const KernelProfile profile = ProfileKernel(*executor_, *LoneKernelOf(key), {});
  EXPECT_EQ(profile.error, "");
  EXPECT_GE(profile.profile.samples, 1);
}

TEST_F(ProfileKernelTest, ProfilesWhatReadsAnAxisOfOneElement) {
  const char text[] = R"(graph {
  input %x: float32[1,8,4]
  input %i: int64[5,2]
  %y = GatherND(%x, %i)
  output %y
})";
  const std::vector<Kernel> kernels = catalog_->KernelsAt(ParseTyped(text), 0, false);
  ASSERT_FALSE(kernels.empty());
  const auto lone = MakeLoneKernel(text, kernels[0], {"plain", "plain", "plain"}, false);
  ASSERT_TRUE(lone.ok()) << lone.status();
  EXPECT_EQ(ProfileKernel(*executor_, *lone, {.samples_max = 3}).error, "");
}

constexpr char kRelu[] = R"(graph {
  input %x: float32[1,16,20,20]
  %r = Relu(%x)
  output %r
})";

TEST_F(ProfileKernelTest, AKernelThatCannotRunHasNoSamplesButAReason) {
  Kernel kernel = catalog_->KernelsAt(ParseTyped(kRelu), 0, false)[0];
  kernel.family = "conv";
  const absl::StatusOr<LoneKernel> lone =
      MakeLoneKernel(kRelu, kernel, {"plain", "plain"}, /*cold_weights=*/false);
  ASSERT_TRUE(lone.ok()) << lone.status();
  const KernelProfile profile = ProfileKernel(*executor_, *lone, {});
  EXPECT_EQ(profile.profile.samples, 0);
  EXPECT_THAT(profile.error, HasSubstr("cannot run Relu"));
}

TEST(MakeLoneKernelTest, TakesAllNodesAndSharesTheFormatsOut) {
  Kernel chosen;
  chosen.width = 3;
  const auto lone = MakeLoneKernel(R"(graph {
  input %a: float32[1,4,2,2]
  input %b: float32[1,4,2,2]
  %s = Add(%a, %b)
  %r = Relu(%s)
  output %r
})",
                                   chosen, {"plain", "channels_last", "channels_last"}, true);
  ASSERT_TRUE(lone.ok()) << lone.status();
  EXPECT_THAT(lone->kernel.nodes, ElementsAre(0, 1));
  EXPECT_THAT(lone->kernel.input_formats, ElementsAre(Format::kPlain, Format::kChannelsLast));
  EXPECT_THAT(lone->kernel.output_formats, ElementsAre(Format::kChannelsLast));
  EXPECT_EQ(lone->kernel.width, 3);
  EXPECT_TRUE(lone->cold_weights);
}

TEST(MakeLoneKernelTest, RefusesWhatItCannotRead) {
  EXPECT_TRUE(absl::IsInvalidArgument(MakeLoneKernel("graph {", {}, {}, true).status()));
  const absl::Status status = MakeLoneKernel(kRelu, {}, {"plain", "sideways"}, true).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("sideways"));
}

}  // namespace
}  // namespace plait
