#include "optimizer/cost/described_device.h"

#include <set>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "optimizer/cost/kernel_blocks.h"
#include "optimizer/cost/kernel_work.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

using testing::HasSubstr;

// Ten multiprocessors that compute 100 flops/us each, and whose caches are out of the way.
constexpr DescribedDevice kTen = {.name = "ten",
                                  .title = "Ten",
                                  .multiprocessors = 10,
                                  .flops_per_us = 1000,
                                  .bytes_per_us = 1e9,
                                  .l2_bytes_per_us = 1e9,
                                  .multiprocessor_bytes_per_us = 1e9,
                                  .l2_bytes = 1 << 22,
                                  .kernel_us = 2,
                                  .product_us = 0.5,
                                  .envelope_kernel_us = 3,
                                  .cross_stream_us = 1,
                                  .streams_max = 4,
                                  .large_tile_share = 1,
                                  .small_tile_share = 1,
                                  .element_share = 1};

Profile Predict(const DescribedDevice& device, const std::string& family,
                const std::string& graph_text, PredictionDetail detail = PredictionDetail::kBlocks,
                const std::string& variant = "") {
  DescribedProfiler profiler(device, detail);
  const ProfileKey key = {.family = family, .variant = variant, .graph_text = graph_text};
  const auto profiles = profiler.Measure({{key}});
  return profiles.ok() ? profiles->front() : Profile();
}

// A product of so many rows by 64 columns of depth 256.
std::string Product(int rows) {
  return absl::StrCat("graph {\n  input %x: float32[", rows,
                      ",256]\n  const %w: float32[256,64] = synthetic 1\n"
                      "  %y = MatMul(%x, %w) {}\n  output %y\n}");
}

constexpr double kTileFlops = 2.0 * 64 * 64 * 256;

TEST(DescribedDeviceTest, BlocksAreComputedInRounds) {
  const double block_us = kTileFlops / 100;
  EXPECT_DOUBLE_EQ(Predict(kTen, "matmul", Product(640)).latency_us_median, 2.5 + block_us);
  // Three blocks more take as long as ten.
  EXPECT_DOUBLE_EQ(Predict(kTen, "matmul", Product(832)).latency_us_median, 2.5 + 2 * block_us);
}

TEST(DescribedDeviceTest, ATileThatSticksOutIsComputedWhole) {
  EXPECT_DOUBLE_EQ(Predict(kTen, "matmul", Product(600)).latency_us_median,
                   Predict(kTen, "matmul", Product(640)).latency_us_median);
}

TEST(DescribedDeviceTest, FormsInTf32MultiplyTilesAtItsRate) {
  DescribedDevice device = kTen;
  const auto latency_us = [&](const std::string& variant) {
    return Predict(device, "matmul", Product(640), PredictionDetail::kBlocks, variant)
        .latency_us_median;
  };
  const double strict_us = latency_us("strict/auto");
  EXPECT_EQ(latency_us("tf32/auto"), strict_us) << "the rate is not known";
  device.tf32_flops_per_us = 4 * device.flops_per_us;
  EXPECT_EQ(latency_us("strict/auto"), strict_us);
  EXPECT_DOUBLE_EQ(latency_us("tf32/auto"), 2.5 + (strict_us - 2.5) / 4);
  EXPECT_EQ(latency_us("tf32/cublaslt/algo1"), latency_us("tf32/auto"));
}

TEST(DescribedDeviceTest, FormsOf16BitsMultiplyTilesAtTheirRate) {
  DescribedDevice device = kTen;
  const auto latency_us = [&](const std::string& variant) {
    return Predict(device, "matmul", Product(640), PredictionDetail::kBlocks, variant)
        .latency_us_median;
  };
  const double strict_us = latency_us("strict/auto");
  EXPECT_EQ(latency_us("fp16/auto"), strict_us) << "the rate is not known";
  device.tf32_flops_per_us = 4 * device.flops_per_us;
  device.half_flops_per_us = 8 * device.flops_per_us;
  EXPECT_DOUBLE_EQ(latency_us("fp16/auto"), 2.5 + (strict_us - 2.5) / 8);
  EXPECT_EQ(latency_us("bf16/auto"), latency_us("fp16/auto"));
  EXPECT_DOUBLE_EQ(latency_us("tf32/auto"), 2.5 + (strict_us - 2.5) / 4);
}

// A product reads, multiplies by and writes halves; a cast has halves on one side.
TEST(DescribedDeviceTest, WhatLiesIn16BitsTakesHalfOfTheBytes) {
  const auto work_of = [](const std::string& text, Format input, Format output) {
    return WorkOfKernel(
        {*ParseTypedGraph(text), {.input_formats = {input}, .output_formats = {output}}, true});
  };
  const KernelWork whole = work_of(Product(64), Format::kPlain, Format::kPlain);
  const KernelWork half = work_of(Product(64), Format::kBf16, Format::kBf16);
  EXPECT_EQ(half.flops, whole.flops);
  EXPECT_EQ(2 * half.weight_bytes, whole.weight_bytes);
  EXPECT_EQ(2 * half.value_bytes, whole.value_bytes);
  const std::string tensor = "graph {\n  input %x: float32[64,64]\n  output %x\n}";
  EXPECT_EQ(work_of(tensor, Format::kPlain, Format::kF16).value_bytes, 6 * 64 * 64);
}

TEST(DescribedDeviceTest, ManyTilesAreLarge) {
  // 10 of 128 rows, half of whose columns lie outside.
  EXPECT_DOUBLE_EQ(Predict(kTen, "matmul", Product(1280)).latency_us_median,
                   2.5 + 4 * kTileFlops / 100);
}

TEST(DescribedDeviceTest, TheDepthOfAFewTilesIsDivided) {
  const std::string deep =
      "graph {\n  input %x: float32[64,1024]\n  const %w: float32[1024,64] = synthetic 1\n"
      "  %y = MatMul(%x, %w) {}\n  output %y\n}";
  const Profile profile = Predict(kTen, "matmul", deep);
  EXPECT_DOUBLE_EQ(profile.latency_us_median, 2.5 + kTileFlops / 100);
  EXPECT_NEAR(profile.compute_share, 0.4, 0.001);
}

TEST(DescribedDeviceTest, AShareIsAnAverageOverTheWholeTime) {
  // All ten multiprocessors, but not while the kernel begins.
  const Profile all = Predict(kTen, "matmul", Product(640));
  EXPECT_NEAR(all.compute_share * all.latency_us_median, kTileFlops / 100, 1e-6);
  const Profile half = Predict(kTen, "matmul", Product(320));
  EXPECT_NEAR(half.compute_share, all.compute_share / 2, 1e-9);
}

TEST(DescribedDeviceTest, AFewBlocksReadWhatTheyCan) {
  DescribedDevice device = kTen;
  device.flops_per_us = 1e12;
  device.bytes_per_us = 1000;
  device.multiprocessor_bytes_per_us = 200;
  const std::string relu = "graph {\n  input %x: float32[1000]\n  %y = Relu(%x) {}\n  output %y\n}";
  // 8000 bytes by one block.
  EXPECT_NEAR(Predict(device, "elementwise", relu).latency_us_median, 2 + 40, 1e-6);
}

// Ten blocks of 256 threads, while they wait for the cache.
TEST(DescribedDeviceTest, WhatWaitsKeepsThePlacesOfItsBlocks) {
  DescribedDevice device = kTen;
  device.flops_per_us = 1e12;
  device.l2_bytes_per_us = 0.1;
  const std::string relu =
      "graph {\n  input %x: float32[10240]\n  %y = Relu(%x) {}\n  output %y\n}";
  for (const auto& [threads, share] : {std::pair(2048, 0.125), std::pair(1536, 1 / 6.0)}) {
    device.multiprocessor = {.shared_bytes = 100 << 10, .threads = threads, .blocks = 32};
    EXPECT_NEAR(Predict(device, "elementwise", relu).compute_share, share, 1e-5) << threads;
  }
  // Where there are fewer registers they are what is scarce: of 32 for each thread.
  device.multiprocessor.registers = 16384;
  EXPECT_NEAR(Predict(device, "elementwise", relu).compute_share, 0.5, 1e-5);
}

// Says of every kernel what the test does.
class NamingCatalog : public KernelCatalog {
 public:
  explicit NamingCatalog(std::string name) : name_(std::move(name)) {}
  std::vector<Kernel> KernelsAt(const Graph&, NodeId, bool) const override { return {}; }
  Kernel Reorder(const TensorType&, Format, Format) const override { return {}; }
  absl::string_view Version(absl::string_view) const override { return "1"; }
  std::string GeneratedName(const Graph&, const Kernel&) const override { return name_; }

 private:
  const std::string name_;
};

TEST(DescribedDeviceTest, AKernelTakesWhatItsLineOfTheTableSays) {
  const Multiprocessor l40s = kL40sDevice.multiprocessor;
  const auto lone = LoneKernelOf(
      {.family = "elementwise",
       .graph_text = "graph {\n  input %x: float32[64]\n  %y = Relu(%x) {}\n  output %y\n}"});
  ASSERT_TRUE(lone.ok()) << lone.status();
  const auto blocks = [&](const KernelCatalog* catalog) {
    return *BlocksOf(*lone, 10, l40s, catalog);
  };
  for (const std::string name : {"depthwise/v4/p4", "depthwise/v1/p1"}) {
    const NamingCatalog catalog(name);
    EXPECT_EQ(blocks(&catalog).resources_of, name);
    EXPECT_EQ(blocks(&catalog).blocks_side_by_side,
              ResidentBlocks(*ResourcesOf(name, "sm_89"), l40s));
  }
  EXPECT_NE(ResourcesOf("depthwise/v1/p1", "sm_89")->registers,
            ResourcesOf("depthwise/v4/p4", "sm_89")->registers);
  // Of what the table has not, the worst of the family.
  const NamingCatalog unknown("elementwise/v64");
  for (const KernelCatalog* catalog :
       {static_cast<const KernelCatalog*>(&unknown), static_cast<const KernelCatalog*>(nullptr)}) {
    EXPECT_EQ(blocks(catalog).resources_of, "elementwise");
    EXPECT_EQ(blocks(catalog).blocks_side_by_side,
              ResidentBlocks(WorstResourcesOf("elementwise", l40s), l40s));
  }
  EXPECT_EQ(ResourcesOf("elementwise/v64", "sm_89"), std::nullopt);
}

// Libraries have none with this activation.
TEST(DescribedDeviceTest, AConvolutionOfPlaitsOwnHasSmallTiles) {
  const auto lone = LoneKernelOf(
      {.family = "conv",
       .graph_text = "graph {\n  input %x: float32[1,64,224,224]\n  const %w: "
                     "float32[256,64,3,3] = synthetic 1\n  %y = Conv(%x, %w) {}\n  output %y\n}"});
  ASSERT_TRUE(lone.ok()) << lone.status();
  const Multiprocessor h200 = kH200Device.multiprocessor;
  const NamingCatalog library("");
  const auto theirs = *BlocksOf(*lone, 132, h200, &library);
  EXPECT_EQ(theirs.kind, BlockKind::kLargeTile);
  EXPECT_EQ(theirs.resources_of, "");
  const NamingCatalog own("convolution/p64/k64");
  const auto ours = *BlocksOf(*lone, 132, h200, &own);
  EXPECT_EQ(ours.kind, BlockKind::kSmallTile);
  EXPECT_EQ(ours.resources_of, "convolution/p64/k64");
}

TEST(DescribedDeviceTest, WeightsComeFromMemoryAndValuesFromTheCache) {
  DescribedDevice device = kTen;
  device.flops_per_us = 1e12;
  device.bytes_per_us = 1000;
  const Profile profile = Predict(device, "matmul", Product(640));
  EXPECT_EQ(profile.bytes, 4 * 256 * 64);
  EXPECT_NEAR(profile.latency_us_median, 2.5 + 65.536, 0.01);
  // Too much for half of the cache.
  device.l2_bytes = 1 << 19;
  EXPECT_EQ(Predict(device, "matmul", Product(640)).bytes, 4 * (256 * 64 + 640 * (256 + 64)));
}

// Also where there is no kernel for the layer: as if there were one.
TEST(DescribedDeviceTest, ALayersStepsComeInTurn) {
  const std::string layer = R"(graph {
  input %x: float32[50,1,8]
  const %w: float32[1,16,8] = synthetic 1
  const %r: float32[1,16,4] = synthetic 2
  %y = LSTM(%x, %w, %r) {}
  output %y
})";
  const double latency_us = Predict(kTen, "recurrent_layer", layer).latency_us_median;
  EXPECT_GE(latency_us, 50 * kTen.kernel_us);
  EXPECT_DOUBLE_EQ(Predict(kTen, "other", layer).latency_us_median, latency_us);
  // One that resets the state, and then multiplies it, has two turns a step.
  const std::string gru = absl::StrReplaceAll(layer, {{"LSTM", "GRU"}, {"1,16,", "1,12,"}});
  EXPECT_GE(Predict(kTen, "recurrent_layer", gru).latency_us_median, 100 * kTen.kernel_us);
}

TEST(DescribedDeviceTest, AViewIsNoKernel) {
  const Profile view =
      Predict(kTen, "view",
              "graph {\n  input %x: float32[4,6]\n  %y = Flatten(%x) {axis=0}\n  output %y\n}");
  EXPECT_EQ(view.samples, 1);
  EXPECT_EQ(view.latency_us_median, 0);
  EXPECT_EQ(view.compute_share, 0);
}

TEST(DescribedDeviceTest, TheEnvelopeKnowsNoBlocks) {
  const Profile profile = Predict(kTen, "matmul", Product(832), PredictionDetail::kEnvelope);
  EXPECT_DOUBLE_EQ(profile.latency_us_median, 3 + 2.0 * 832 * 64 * 256 / 1000 / 0.6);
  EXPECT_EQ(profile.compute_share, 0);
  EXPECT_EQ(profile.bytes, 0);
}

TEST(DescribedDeviceTest, DrawsStayWithinAThirdAndKeepWhatIsCounted) {
  std::set<double> rates;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const DescribedDevice drawn = DrawnDevice(kH200Device, seed);
    EXPECT_EQ(drawn.multiprocessors, kH200Device.multiprocessors);
    EXPECT_EQ(drawn.flops_per_us, DrawnDevice(kH200Device, seed).flops_per_us);
    for (const auto& [rate, nominal] : {std::pair(drawn.flops_per_us, kH200Device.flops_per_us),
                                        {drawn.tf32_flops_per_us, kH200Device.tf32_flops_per_us},
                                        {drawn.half_flops_per_us, kH200Device.half_flops_per_us},
                                        {drawn.kernel_us, kH200Device.kernel_us}}) {
      EXPECT_LE(rate, 1.3001 * nominal);
      EXPECT_GE(rate, nominal / 1.3001);
      rates.insert(rate / nominal);
    }
  }
  EXPECT_EQ(rates.size(), 200u) << "each constant is drawn by itself";
}

TEST(DescribedDeviceTest, OtherFamiliesHaveNoProfile) {
  EXPECT_EQ(Predict(kTen, "conv_winograd", Product(64)).samples, 0);
  EXPECT_EQ(Predict(kTen, "matmul", "no graph").samples, 0);
}

TEST(DescribedDeviceTest, IsFoundByItsId) {
  ASSERT_TRUE(FindDescribedDevice("model:h200").ok());
  EXPECT_EQ((*FindDescribedDevice("model:h200"))->title, "NVIDIA H200");
  EXPECT_EQ(DescribedName("cpu"), "");
  for (const char* id : {"model:h2000", "model:", "cpu", "h200", ""}) {
    const auto found = FindDescribedDevice(id);
    EXPECT_THAT(std::string(found.status().message()),
                HasSubstr("model:a100, model:h200, model:l40s"))
        << id;
  }
}

TEST(DescribedDeviceTest, EveryDeviceIsWhole) {
  std::set<std::string> fingerprints;
  for (const DescribedDevice* device : DescribedDevices()) {
    SCOPED_TRACE(std::string(device->name));
    for (const double rate :
         {device->flops_per_us, device->bytes_per_us, device->l2_bytes_per_us,
          device->multiprocessor_bytes_per_us, device->kernel_us, device->product_us,
          device->envelope_kernel_us, device->cross_stream_us}) {
      EXPECT_GT(rate, 0);
    }
    // Of every kernel that plait generates some blocks fit.
    for (const char* family : {"attention", "separable", "elementwise"}) {
      const BlockResources worst = WorstResourcesOf(family, device->multiprocessor);
      EXPECT_GE(ResidentBlocks(worst, device->multiprocessor), 2) << family;
    }
    const DeviceDescription description = DescriptionOf(*device);
    EXPECT_EQ(description.backend, "model");
    EXPECT_EQ(description.id, absl::StrCat("model:", device->name));
    EXPECT_GT(description.threads, 1);
    EXPECT_GT(description.streams_max, 1);
    EXPECT_EQ(description.launch_gap_us, 0);
    EXPECT_TRUE(fingerprints.insert(description.fingerprint).second);
  }
}

}  // namespace
}  // namespace plait
