#include "bench/gpu/kernel_list.h"

#include "bench/gpu/timing.h"
#include "gpu_worker/backends/cuda/problem/problem_shape.h"
#include "gtest/gtest.h"

namespace plait::cuda {
namespace {

Result<ListedKernel> Read(const std::string& line) {
  const auto object = FlatObject::Parse(line);
  if (!object.ok()) return object.error();
  return ReadKernel(object.value());
}

constexpr const char* kGraph =
    R"("family":"conv","formats":"plain,plain,plain",)"
    R"("graph":"graph {\n  input %a: float32[1,8,4,4]\n  input %b: float32[8]\n)"
    R"(  %y: float32[1,16,4,4] = Conv(%a) {}\n  output %y\n}\n")";

TEST(KernelListTest, ReadsAConvolution) {
  const auto kernel = Read(std::string("{") + kGraph +
                           R"(,"problem":"conv","n":1,"c":8,"h":4,"w":4,"k":16,"r":3,"s":3,)"
                           R"("stride":[1,1],"pad":[1,1,1,1],"bias":true,"activation":"relu6"})");
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  const auto& conv = std::get<ConvProblem>(kernel.value().problem);
  EXPECT_EQ(conv.k, 16);
  EXPECT_EQ(conv.activation, Activation::kRelu6);
  EXPECT_TRUE(conv.bias);
  EXPECT_EQ(FormatsIn(kernel.value(), MemoryLayout::kNchw), "plain,plain,plain");
  EXPECT_EQ(FormatsIn(kernel.value(), MemoryLayout::kNhwc), "channels_last,plain,channels_last");
}

TEST(KernelListTest, ReadsASeparableConvolution) {
  const auto kernel =
      Read(std::string("{") + kGraph +
           R"(,"problem":"separable_conv","n":1,"c":8,"h":5,"w":5,"k":8,"r":3,"s":3,)"
           R"("stride":[2,2],"pad":[1,1,1,1],"groups":8,"pointwise_k":12,)"
           R"("pointwise_bias":true,"pointwise_activation":"relu"})");
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  const auto& p = std::get<SeparableConvProblem>(kernel.value().problem);
  EXPECT_EQ(p.pointwise.c, 8);
  EXPECT_EQ(p.pointwise.h, 3);
  EXPECT_EQ(p.pointwise.k, 12);
  EXPECT_TRUE(p.pointwise.bias);
}

TEST(KernelListTest, ReadsTheNumbersOfANorm) {
  const auto read = [](const std::string& fields) {
    const auto kernel = Read(std::string("{") + kGraph + fields + "}");
    EXPECT_TRUE(kernel.ok());
    return kernel.value().problem;
  };
  const std::string norm = R"(,"problem":"rows","kind":"layer_norm","rows":2,"columns":8)";
  EXPECT_EQ(std::get<RowsProblem>(read(norm)).epsilon, 1e-5F);
  EXPECT_EQ(std::get<RowsProblem>(read(norm + R"(,"epsilon":1e-12)")).epsilon, 1e-12F);
  EXPECT_FALSE(Read(std::string("{") + kGraph + norm + R"(,"epsilon":-1})").ok());
}

TEST(KernelListTest, ReadsAnAttention) {
  const auto read = [](const std::string& fields) {
    const auto kernel =
        Read(std::string("{") + kGraph +
             R"(,"problem":"attention","heads":2,"query":4,"keys":4,"dim":16)" + fields + "}");
    EXPECT_TRUE(kernel.ok());
    return std::get<AttentionProblem>(kernel.value().problem);
  };
  EXPECT_EQ(read("").factor(), 0.25F);
  const AttentionProblem p =
      read(R"(,"scale":0.5,"mask":true,"mask_batch":false,"mask_heads":true,"mask_query":false)");
  EXPECT_EQ(p.factor(), 0.5F);
  EXPECT_EQ(MaskShape(p), (std::vector<int64_t>{1, 2, 1, 4}));
}

TEST(KernelListTest, ReadsARecurrentLayer) {
  const auto kernel =
      Read(std::string("{") + kGraph +
           R"(,"problem":"recurrent_layer","kind":"gru","direction":"bidirectional","steps":6,)"
           R"("batch":2,"input":12,"hidden":20,"bias":true,"initial_h":true,"initial_c":false,)"
           R"("linear_before_reset":true,"activation":"tanh","y":true,"y_h":true,"y_c":false})");
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  const RecurrentLayerProblem wanted{.kind = RecurrentLayerProblem::Kind::kGru,
                                     .direction = RecurrentLayerProblem::Direction::kBidirectional,
                                     .steps = 6,
                                     .batch = 2,
                                     .input = 12,
                                     .hidden = 20,
                                     .bias = true,
                                     .initial_h = true,
                                     .linear_before_reset = true,
                                     .y_h = true};
  EXPECT_EQ(kernel.value().problem, Problem(wanted));
}

TEST(KernelListTest, RefusesWhatIsNoKernel) {
  for (const std::string& fields :
       {std::string(R"(,"problem":"unheard of")"), std::string(R"(,"problem":"conv","n":0)"),
        std::string(R"(,"problem":"conv","activation":"swoosh")"),
        std::string(R"(,"problem":"conv","stride":[1])"),
        std::string(R"(,"problem":"pool","mode":"median")"),
        std::string(R"(,"problem":"recurrent_layer","kind":"lstm","direction":"upward","y":true)"),
        std::string(R"(,"problem":"separable_conv","stride":[0,0])"),
        std::string(R"(,"problem":"elementwise","expression":"x0(","shape":[2],"inputs":[[2]])"),
        std::string(R"(,"problem":"movement","kind":"transpose","inputs":[[2,2]])"),
        std::string()}) {
    EXPECT_FALSE(Read(std::string("{") + kGraph + fields + "}").ok()) << fields;
  }
  EXPECT_FALSE(Read(R"({"problem":"gemm"})").ok());
}

TEST(TimingTest, SummarizesByMedian) {
  const Timing timing = Summarize({5, 1, 3, 100, 4});
  EXPECT_EQ(timing.median_us, 4);
  EXPECT_EQ(timing.p10_us, 1);
  EXPECT_EQ(timing.mad_us, 1);
  EXPECT_EQ(timing.samples, 5);
  EXPECT_EQ(Summarize({}).samples, 0);
}

}  // namespace
}  // namespace plait::cuda
