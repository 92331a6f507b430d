#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "loading/host_nodes/host_node.h"
#include "tests/loading/planned_model.h"

namespace plait {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

onnx::AttributeProto Integer(const std::string& name, int64_t value) {
  onnx::AttributeProto attribute;
  attribute.name = name;
  attribute.type = onnx::AttributeProto::kInt;
  attribute.i = value;
  return attribute;
}

onnx::AttributeProto Number(const std::string& name, float value) {
  onnx::AttributeProto attribute;
  attribute.name = name;
  attribute.type = onnx::AttributeProto::kFloat;
  attribute.f = value;
  return attribute;
}

onnx::AttributeProto Text(const std::string& name, const std::string& value) {
  onnx::AttributeProto attribute;
  attribute.name = name;
  attribute.type = onnx::AttributeProto::kString;
  attribute.s = value;
  return attribute;
}

absl::StatusOr<std::vector<Tensor>> Compute(const std::string& op_type,
                                            const std::vector<onnx::AttributeProto>& attributes,
                                            const std::vector<Tensor>& inputs, int opset = 17) {
  onnx::NodeProto proto;
  proto.op_type = op_type;
  proto.attribute = attributes;
  EXPECT_TRUE(IsHostOperator(op_type));
  const absl::StatusOr<HostOperator> compute = MakeHostOperator({proto, opset});
  if (!compute.ok()) return compute.status();
  return (*compute)(inputs);
}

Tensor Bools(std::vector<uint8_t> values) {
  const auto size = static_cast<int64_t>(values.size());
  return Tensor({DataType::kBool, {size}}, std::string(values.begin(), values.end()));
}

const float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(HostNodesTest, NonZeroGivesARowOfIndicesForEachAxis) {
  const auto places = Compute("NonZero", {}, {Floats({2, 3}, {1, 0, kNan, -0.0F, 0, -2})});
  ASSERT_TRUE(places.ok()) << places.status();
  EXPECT_EQ(places->at(0).type().shape, Shape({2, 3}));
  EXPECT_THAT(places->at(0).AsInt64s(), ElementsAre(0, 0, 1, 0, 2, 2));
  // The sign's bit of an integer is a value, and a scalar counts as a vector.
  const auto least =
      Compute("NonZero", {}, {Tensor::Of<int32_t>({}, {std::numeric_limits<int32_t>::min()})});
  EXPECT_EQ(least->at(0).type().shape, Shape({1, 1}));
  const auto none = Compute("NonZero", {}, {Floats({2, 0}, {})});
  EXPECT_EQ(none->at(0).type().shape, Shape({2, 0}));
}

TEST(HostNodesTest, CompressKeepsSlicesOrElements) {
  const Tensor x = Floats({3, 2}, {1, 2, 3, 4, 5, 6});
  const auto rows = Compute("Compress", {Integer("axis", 0)}, {x, Bools({0, 1, 1})});
  EXPECT_EQ(rows->at(0), Floats({2, 2}, {3, 4, 5, 6}));
  const auto columns = Compute("Compress", {Integer("axis", -1)}, {x, Bools({0, 1})});
  EXPECT_EQ(columns->at(0), Floats({3, 1}, {2, 4, 6}));
  const auto elements = Compute("Compress", {}, {x, Bools({0, 1, 0, 0, 1})});
  EXPECT_EQ(elements->at(0), Floats({2}, {2, 5}));
  EXPECT_THAT(
      std::string(
          Compute("Compress", {Integer("axis", 1)}, {x, Bools({1, 1, 1})}).status().message()),
      HasSubstr("the condition has 3 elements, the axis 2"));
  EXPECT_FALSE(Compute("Compress", {Integer("axis", 2)}, {x, Bools({1})}).ok());
  EXPECT_FALSE(Compute("Compress", {}, {x, x}).ok());
}

TEST(HostNodesTest, UniqueFindsGroupsSortedOrAsTheyCame) {
  const Tensor x = Floats({6}, {2, 1, 1, 3, 4, 3});
  const auto sorted = Compute("Unique", {}, {x});
  ASSERT_TRUE(sorted.ok()) << sorted.status();
  EXPECT_EQ(sorted->at(0), Floats({4}, {1, 2, 3, 4}));
  EXPECT_THAT(sorted->at(1).AsInt64s(), ElementsAre(1, 0, 3, 4));
  EXPECT_THAT(sorted->at(2).AsInt64s(), ElementsAre(1, 0, 0, 2, 3, 2));
  EXPECT_THAT(sorted->at(3).AsInt64s(), ElementsAre(2, 1, 2, 1));
  const auto unsorted = Compute("Unique", {Integer("sorted", 0)}, {x});
  EXPECT_EQ(unsorted->at(0), Floats({4}, {2, 1, 3, 4}));
  EXPECT_THAT(unsorted->at(2).AsInt64s(), ElementsAre(0, 1, 1, 2, 3, 2));
  const auto columns =
      Compute("Unique", {Integer("axis", 1)}, {Tensor::Of<int64_t>({2, 3}, {5, 1, 5, 0, 2, 0})});
  EXPECT_EQ(columns->at(0), Tensor::Of<int64_t>({2, 2}, {1, 5, 2, 0}));
  EXPECT_THAT(columns->at(2).AsInt64s(), ElementsAre(1, 0, 1));
  const auto none = Compute("Unique", {}, {Floats({0}, {})});
  EXPECT_THAT(none->at(2).AsInt64s(), IsEmpty());
  const auto nans = Compute("Unique", {}, {Floats({3}, {kNan, 1, kNan})});
  EXPECT_EQ(nans->at(0).elements(), 3);
}

// Three boxes, of which the second overlaps the first by 0.81.
Tensor Boxes() { return Floats({1, 3, 4}, {0, 0, 10, 10, 0, 0, 9, 9, 20, 20, 30, 30}); }

TEST(HostNodesTest, NonMaxSuppressionKeepsTheBestThatDoNotOverlap) {
  const Tensor scores = Floats({1, 2, 3}, {0.9F, 0.8F, 0.7F, 0.1F, 0.6F, 0.6F});
  const Tensor three = Tensor::ScalarInt64(3);
  const auto best =
      Compute("NonMaxSuppression", {},
              {Boxes(), scores, three, Tensor::ScalarFloat(0.5F), Tensor::ScalarFloat(0.5F)});
  ASSERT_TRUE(best.ok()) << best.status();
  EXPECT_EQ(best->at(0).type().shape, Shape({4, 3}));
  EXPECT_THAT(best->at(0).AsInt64s(), ElementsAre(0, 0, 0, 0, 0, 2, 0, 1, 1, 0, 1, 2));
  const auto all =
      Compute("NonMaxSuppression", {}, {Boxes(), scores, three, Tensor::ScalarFloat(0.9F)});
  EXPECT_EQ(all->at(0).type().shape, Shape({6, 3}));
  const auto one = Compute("NonMaxSuppression", {},
                           {Boxes(), scores, Tensor::Int64s({1}), Tensor::ScalarFloat(0.5F)});
  EXPECT_THAT(one->at(0).AsInt64s(), ElementsAre(0, 0, 0, 0, 1, 1));
  // Without a number of boxes there are none.
  EXPECT_EQ(Compute("NonMaxSuppression", {}, {Boxes(), scores})->at(0).type().shape, Shape({0, 3}));
  EXPECT_FALSE(Compute("NonMaxSuppression", {}, {Boxes(), Boxes(), three}).ok());
}

TEST(HostNodesTest, RoiAlignTakesTheMeanOfSamples) {
  std::vector<float> ramp(16);
  for (size_t i = 0; i < ramp.size(); ++i) ramp[i] = static_cast<float>(i);
  const std::vector<Tensor> inputs = {Floats({1, 1, 4, 4}, ramp), Floats({1, 4}, {0, 0, 4, 4}),
                                      Tensor::Int64s({0})};
  const std::vector<onnx::AttributeProto> bins = {
      Integer("output_height", 2), Integer("output_width", 2), Integer("sampling_ratio", 2)};
  const auto mean = Compute("RoiAlign", bins, inputs);
  ASSERT_TRUE(mean.ok()) << mean.status();
  // Each sample is a pixel: the mean of four.
  EXPECT_EQ(mean->at(0), Floats({1, 1, 2, 2}, {2.5F, 4.5F, 10.5F, 12.5F}));
  std::vector<onnx::AttributeProto> largest = bins;
  largest.push_back(Text("mode", "max"));
  EXPECT_EQ(Compute("RoiAlign", largest, inputs)->at(0), Floats({1, 1, 2, 2}, {5, 7, 13, 15}));
  std::vector<onnx::AttributeProto> half = bins;
  half.push_back(Number("spatial_scale", 0.5F));
  const auto scaled = Compute("RoiAlign", half, inputs);
  // Samples at -0.25, which counts as 0, and at 0.25.
  EXPECT_EQ(scaled->at(0).at<float>(0), 0.625F);
  EXPECT_THAT(std::string(Compute("RoiAlign", bins, {inputs[0], inputs[1], Tensor::Int64s({1})})
                              .status()
                              .message()),
              HasSubstr("is of image 1, there are 1"));
  // One that would take any time.
  EXPECT_FALSE(
      Compute("RoiAlign", {}, {inputs[0], Floats({1, 4}, {0, 0, 1e9F, 1e9F}), Tensor::Int64s({0})})
          .ok());
  EXPECT_FALSE(Compute("RoiAlign", {Integer("output_height", 1 << 20)}, inputs).ok());
}

TEST(HostNodesTest, RoiAlignReadsNoPixelThatIsNotThere) {
  const std::vector<onnx::AttributeProto> bins = {Integer("sampling_ratio", 2)};
  const Tensor first = Tensor::Int64s({0});
  EXPECT_FALSE(
      Compute("RoiAlign", bins, {Floats({1, 1, 0, 4}, {}), Floats({1, 4}, {0, 0, 0, 0}), first})
          .ok());
  const float nan = std::nanf("");
  const auto nowhere = Compute(
      "RoiAlign", bins, {Floats({1, 1, 1, 1}, {7}), Floats({1, 4}, {nan, nan, nan, nan}), first});
  ASSERT_TRUE(nowhere.ok()) << nowhere.status();
  EXPECT_EQ(nowhere->at(0).at<float>(0), 0);
}

// 4 TiB of results, and 2^40 samples of a region.
TEST(HostNodesTest, RoiAlignRefusesWhatNoMemoryHolds) {
  const Tensor image = Floats({1, 256, 1, 1}, std::vector<float>(256, 1));
  const Tensor regions = Floats({4096, 4}, std::vector<float>(4096 * 4, 0));
  const Tensor images = Tensor::Int64s(std::vector<int64_t>(4096, 0));
  EXPECT_EQ(Compute("RoiAlign", {Integer("output_height", 1024), Integer("output_width", 1024)},
                    {image, regions, images})
                .status()
                .code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Compute("RoiAlign",
                    {Integer("output_height", 1024), Integer("output_width", 1024),
                     Integer("sampling_ratio", 1024)},
                    {Floats({1, 1, 1, 1}, {1}), Floats({1, 4}, {0, 0, 1, 1}), Tensor::Int64s({0})})
                .status()
                .code(),
            absl::StatusCode::kResourceExhausted);
}

onnx::AttributeProto Body(size_t inputs, size_t outputs) {
  onnx::AttributeProto attribute;
  attribute.name = "body";
  attribute.type = onnx::AttributeProto::kGraph;
  onnx::GraphProto& graph = *attribute.g.mutable_value();
  graph.input.resize(inputs);
  graph.output.resize(outputs);
  return attribute;
}

TEST(HostNodesTest, AScanWithoutABodyIsAnError) {
  onnx::NodeProto scan;
  scan.op_type = "Scan";
  scan.attribute = {Integer("num_scan_inputs", 1)};
  scan.input = {"x"};
  EXPECT_EQ(MakeHostOperator({scan, 17}).status().code(), absl::StatusCode::kInvalidArgument);
}

// Gives one result, whatever is declared.
class OneResult : public HostBody {
 public:
  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> /*inputs*/) override {
    return std::vector<Tensor>{Tensor::Of<bool>({}, {true})};
  }
};

TEST(HostNodesTest, ABodyThatGivesLessThanItDeclaresIsAnError) {
  onnx::NodeProto loop;
  loop.op_type = "Loop";
  loop.attribute = {Body(3, 3)};
  loop.input = {"m", "c", "x"};
  onnx::NodeProto scan;
  scan.op_type = "Scan";
  scan.attribute = {Integer("num_scan_inputs", 1), Body(2, 2)};
  scan.input = {"s", "x"};
  const auto body = [](absl::string_view) { return std::make_unique<OneResult>(); };
  const Tensor x = Floats({1}, {1});
  const absl::StatusOr<HostOperator> looped = MakeHostOperator({loop, 17, body});
  ASSERT_TRUE(looped.ok()) << looped.status();
  EXPECT_THAT(std::string((*looped)({Tensor::ScalarInt64(2), Tensor(), x}).status().message()),
              HasSubstr("the body gives 1 results, declares 3"));
  const absl::StatusOr<HostOperator> scanned = MakeHostOperator({scan, 17, body});
  ASSERT_TRUE(scanned.ok()) << scanned.status();
  EXPECT_THAT(std::string((*scanned)({x, x}).status().message()),
              HasSubstr("the body gives 1 results, declares 2"));
}

TEST(HostNodesTest, KnowsItsOperators) {
  EXPECT_TRUE(IsHostOperator("Loop"));
  EXPECT_FALSE(IsHostOperator("Conv"));
  EXPECT_FALSE(Compute("NonZero", {}, {}).ok());
  EXPECT_FALSE(Compute("If", {}, {}).ok());
  EXPECT_FALSE(Compute("Loop", {}, {}).ok());
  EXPECT_FALSE(Compute("Scan", {}, {}).ok());
  EXPECT_EQ(Compute("Scan", {}, {}, /*opset=*/8).status().code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace plait
