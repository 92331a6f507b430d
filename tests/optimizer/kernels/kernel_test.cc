#include "optimizer/kernels/kernel.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "optimizer/ir/text.h"
#include "optimizer/kernels/format_rules.h"
#include "optimizer/kernels/kernel_key.h"
#include "tests/optimizer/ir/graphs.h"

namespace plait {
namespace {

using testing::ElementsAre;

std::vector<std::string> NamesOf(const Graph& graph, absl::Span<const TensorId> tensors) {
  std::vector<std::string> names;
  for (TensorId tensor : tensors) names.push_back(*graph.tensor(tensor).name);
  return names;
}

constexpr char kGraph[] = R"(graph {
  input %x: float32[4]
  input %z: float32[4]
  const %w: float32[4] = synthetic 99
  const %v: float32[4] = Mul(%w, %w) {}
  const %k: float32[4] = [1,2,3,4]
  %a: float32[4] = Add(%z, %w) {} @first
  %b: float32[4] = Mul(%a, %v) {}
  %c: float32[4] = Sub(%x, %b) {}
  %d: float32[4] = Add(%c, %k) {}
  %e: float32[2], _ = Split(%a, _) {axis=0}
  %f: float32[4] = Mul(%d, %w) {}
  output %f, %c, %e
}
)";

TEST(KernelTest, InputsAreWhatTheSetReadsInOrderOfFirstUse) {
  const Graph graph = GraphOf(kGraph);
  EXPECT_THAT(NamesOf(graph, InputsOf(graph, {0, 1, 2, 3})), ElementsAre("z", "x"));
  EXPECT_THAT(NamesOf(graph, InputsOf(graph, {2, 3})), ElementsAre("x", "b"));
  EXPECT_THAT(NamesOf(graph, InputsOf(graph, {})), ElementsAre());
}

TEST(KernelTest, OutputsAreWhatOthersReadAndGraphOutputs) {
  const Graph graph = GraphOf(kGraph);
  EXPECT_THAT(NamesOf(graph, OutputsOf(graph, {0, 1, 2, 3})), ElementsAre("a", "c", "d"));
  EXPECT_THAT(NamesOf(graph, OutputsOf(graph, {0, 1, 4})), ElementsAre("b", "e"));
  EXPECT_THAT(NamesOf(graph, OutputsOf(graph, {4})), ElementsAre("e"));
}

TEST(KernelTest, TheGraphOfAKernelIsCanonical) {
  const Graph graph = GraphOf(kGraph);
  EXPECT_EQ(PrintGraph(KernelGraph(graph, {0, 1, 2, 3, 5})), R"(graph {
  input %i0: float32[4]
  input %i1: float32[4]
  const %c0: float32[4] = synthetic 0
  const %c1: float32[4] = synthetic 1
  const %c2: float32[4] = synthetic 2
  %t0: float32[4] = Add(%i0, %c0) {}
  %t1: float32[4] = Mul(%t0, %c1) {}
  %t2: float32[4] = Sub(%i1, %t1) {}
  %t3: float32[4] = Add(%t2, %c2) {}
  %t4: float32[4] = Mul(%t3, %c0) {}
  output %t0, %t2, %t4
}
)");
}

TEST(KernelTest, OmittedInputsAndOutputsStayOmitted) {
  const Graph graph = GraphOf(kGraph);
  EXPECT_EQ(PrintGraph(KernelGraph(graph, {4})), R"(graph {
  input %i0: float32[4]
  %t0: float32[2], _ = Split(%i0, _) {axis=0}
  output %t0
}
)");
}

TEST(KernelTest, EqualKernelsOfDifferentModelsHaveEqualTexts) {
  const Graph other = GraphOf(R"(graph {
  input %image: float32[4]
  const %bias: float32[4] = synthetic 3
  const %scale: float32[4] = synthetic 4
  %u: float32[4] = Relu(%image) {}
  %sum: float32[4] = Add(%u, %bias) {} @second
  %product: float32[4] = Mul(%sum, %scale) {}
  output %product
}
)");
  const Graph first = GraphOf(kGraph);
  // There %a is read outside the set, so the same nodes are not the same kernel.
  EXPECT_NE(PrintGraph(KernelGraph(first, {0, 1})), PrintGraph(KernelGraph(other, {1, 2})));
  EXPECT_EQ(PrintGraph(KernelGraph(first, {5})), PrintGraph(KernelGraph(other, {2})));
  EXPECT_EQ(KernelGraph(first, {5}).fingerprint(), KernelGraph(other, {2}).fingerprint());
}

TEST(KernelTest, ParametersTakeNoPartHoweverSmall) {
  const auto model = [](absl::string_view bias, absl::string_view bound) {
    return GraphOf(absl::StrCat(R"(graph {
  input %x: float32[2]
  const %bias: float32[2] = [)",
                                bias, R"(,1]
  const %bound: float32[] = [)",
                                bound, R"(]
  %sum: float32[2] = Add(%x, %bias) {}
  %y: float32[2] = Min(%sum, %bound) {}
  output %y
}
)"));
  };
  const std::vector<NodeId> nodes = {0, 1};
  const Graph first = model("1", "6"), other_bias = model("2", "6"), other_bound = model("1", "7");
  EXPECT_EQ(PrintGraph(KernelGraph(first, nodes)), PrintGraph(KernelGraph(other_bias, nodes)));
  EXPECT_EQ(StructureFingerprint(first, nodes), StructureFingerprint(other_bias, nodes));
  EXPECT_NE(PrintGraph(KernelGraph(first, nodes)), PrintGraph(KernelGraph(other_bound, nodes)));
  EXPECT_NE(StructureFingerprint(first, nodes), StructureFingerprint(other_bound, nodes));
}

TEST(KernelTest, TheScalesOfAResizeAreKept) {
  const auto model = [](absl::string_view scale) {
    return GraphOf(absl::StrCat(R"(graph {
  input %i0: float32[2,4]
  const %c0: float32[2] = [1,)",
                                scale, R"(]
  %t0: float32[2,8] = Resize(%i0, _, %c0) {}
  output %t0
}
)"));
  };
  // Both give eight elements.
  const Graph first = model("2"), other = model("2.1");
  EXPECT_EQ(PrintGraph(KernelGraph(first, {0})), PrintGraph(first));
  EXPECT_NE(StructureFingerprint(first, {0}), StructureFingerprint(other, {0}));
}

TEST(KernelTest, AResizeCountsWithinItsKernelOnly) {
  const auto model = [](absl::string_view scale) {
    return GraphOf(absl::StrCat(R"(graph {
  input %i0: float32[2,2]
  const %c0: float32[2] = [1,)",
                                scale, R"(]
  %t0: float32[2,2] = Mul(%i0, %c0) {}
  %t1: float32[2,4] = Resize(%t0, _, %c0) {}
  output %t1
}
)"));
  };
  const Graph first = model("2"), other = model("2.1");
  // Alone, the product is one by any numbers.
  EXPECT_EQ(StructureFingerprint(first, {0}), StructureFingerprint(other, {0}));
  EXPECT_EQ(PrintGraph(KernelGraph(first, {0})), PrintGraph(KernelGraph(other, {0})));
  // Together with the Resize, what it reads first is a setting from the start.
  EXPECT_NE(StructureFingerprint(first, {0, 1}), StructureFingerprint(other, {0, 1}));
  EXPECT_EQ(PrintGraph(KernelGraph(first, {0, 1})), PrintGraph(first));
}

TEST(KernelTest, AKeyHasTheVersionOfTheCodeAndThePlanHasNot) {
  const Graph graph = GraphOf(kGraph);
  const Kernel kernel{.family = "elementwise", .nodes = {5}};
  const ProfileKey key = KernelProfileKey(graph, kernel, {"device", "0123"});
  EXPECT_EQ(key.version, "0123");
  EXPECT_EQ(key.device_fingerprint, "device");
  EXPECT_NE(key.ToString(), KernelProfileKey(graph, kernel, {"device", "0124"}).ToString());
  EXPECT_EQ(ReorderProfileKey(graph.type(0), kernel, {"device", "9"}).version, "9");
}

TEST(FormatTest, NamesRoundTrip) {
  EXPECT_EQ(FormatFromName("plain"), Format::kPlain);
  EXPECT_EQ(FormatFromName("channels_last"), Format::kChannelsLast);
  for (const Format format : kAllFormats) EXPECT_EQ(FormatFromName(FormatName(format)), format);
  EXPECT_EQ(FormatFromName("blocked"), std::nullopt);
  EXPECT_EQ(FormatName(static_cast<Format>(kFormatCount)), "unknown");
}

// What every line of formats.def must keep: the plain format is there for any type, a layout that
// does not apply is called row-major, and the elements of a tensor fill its bytes once.
TEST(FormatTest, EveryFormatLaysEachElementIntoAPlaceOfItsOwn) {
  for (const Shape& shape : {Shape{2, 3, 4, 5}, Shape{2, 1, 4, 5}, Shape{2, 3, 1, 1}, Shape{7},
                             Shape{2, 3, 4}, Shape{}}) {
    const TensorType type{DataType::kFloat32, shape};
    for (const Format wanted : kAllFormats) {
      const Format format = EffectiveFormat(type, wanted);
      const DataType stored = StoredType(type, wanted).dtype;
      EXPECT_TRUE(format == wanted || format == StoredAs(stored, Format::kPlain));
      EXPECT_EQ(StoredType(type, format).dtype, stored);
      const Shape strides = StridesOf(type, format);
      ASSERT_EQ(strides.size(), shape.size());
      std::vector<bool> taken(static_cast<size_t>(type.elements()), false);
      for (int64_t i = 0; i < type.elements(); ++i) {
        int64_t place = 0, rest = i;
        for (int axis = type.rank() - 1; axis >= 0; --axis) {
          place += rest % shape[axis] * strides[axis];
          rest /= shape[axis];
        }
        ASSERT_LT(place, type.elements()) << FormatName(format);
        EXPECT_FALSE(taken[place]) << FormatName(format);
        taken[place] = true;
      }
    }
  }
}

// 16 bits are of float32 alone: anything else lies as what it is.
TEST(FormatTest, NarrowFormatsHalveTheBytesOfFloats) {
  const TensorType image{DataType::kFloat32, {2, 3, 4, 5}};
  const TensorType pixel{DataType::kFloat32, {2, 3, 1, 1}};
  const TensorType indices{DataType::kInt64, {2, 3, 4, 5}};
  for (const auto& [stored, plain, last] :
       {std::tuple(DataType::kFloat16, Format::kF16, Format::kF16ChannelsLast),
        std::tuple(DataType::kBfloat16, Format::kBf16, Format::kBf16ChannelsLast)}) {
    EXPECT_EQ(StoredAs(stored, Format::kPlain), plain);
    EXPECT_EQ(StoredAs(stored, Format::kChannelsLast), last);
    EXPECT_EQ(StoredAs(DataType::kFloat32, last), Format::kChannelsLast);
    EXPECT_EQ(StoredType(image, last), (TensorType{stored, image.shape}));
    EXPECT_EQ(BytesOf(image, last), 240);
    EXPECT_EQ(BytesOf(image, Format::kChannelsLast), 480);
    EXPECT_FALSE(IsStoredWhole(image, plain));
    EXPECT_EQ(StridesOf(image, last), StridesOf(image, Format::kChannelsLast));
    EXPECT_EQ(EffectiveFormat(pixel, last), plain);
    EXPECT_FALSE(CanLieIn(indices, plain));
    EXPECT_EQ(EffectiveFormat(indices, last), Format::kChannelsLast);
    EXPECT_EQ(StoredType(indices, last), indices);
    EXPECT_FALSE(CanLieIn({DataType::kFloat32, {7}}, last));
  }
}

}  // namespace
}  // namespace plait
