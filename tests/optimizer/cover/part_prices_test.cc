#include "optimizer/cover/part_prices.h"

#include <gtest/gtest.h>

#include "optimizer/kernels/concat_pieces.h"
#include "tests/fakes/fake_device.h"

namespace plait {
namespace {

// Two thirds of %c are %a, which nodes make, and the rest is the caller's.
Graph HalfOfTheCallers() {
  return GraphOf(R"(graph {
  input %x: float32[1,32,4,4]
  input %b: float32[1,16,4,4]
  %a = Relu(%x) {}
  %c = Concat(%a, %b) {axis=1}
  %y = Neg(%a) {}
  output %c, %y
}
)");
}

class PartPricesTest : public testing::Test {
 protected:
  PartPricesTest() {
    catalog_.takes_parts = true;
    catalog_.family_that_writes_none = "library";
    for (const auto& [node, family] : {std::pair<NodeId, const char*>{0, "library"},
                                       {0, "own"},
                                       {1, "own"},
                                       {1, "library"},
                                       {2, "own"}}) {
      Kernel& kernel = kernels_.emplace_back();
      kernel.family = family;
      kernel.nodes = {node};
      inputs_.push_back(InputsOf(graph_, kernel.nodes));
      outputs_.push_back(OutputsOf(graph_, kernel.nodes));
      kernel.input_formats.assign(inputs_.back().size(), Format::kChannelsLast);
      kernel.output_formats.assign(outputs_.back().size(), Format::kChannelsLast);
    }
  }

  // Of the kernel of that index.
  PartPrices::Measured Measured(size_t index, double latency_us, bool takes_all = false) const {
    const Kernel& kernel = kernels_[index];
    return {.inputs = inputs_[index],
            .outputs = outputs_[index],
            .input_formats = kernel.input_formats,
            .output_formats = kernel.output_formats,
            .concat = ConcatPiecesOf(graph_, kernel).empty() ? kNoNode : kernel.nodes[0],
            .latency_us = latency_us,
            .takes_all = takes_all,
            .reads_parts = catalog_.ReadsParts(kernel),
            .writes_parts = catalog_.WritesParts(kernel)};
  }

  const Graph graph_ = HalfOfTheCallers();
  FakeCatalog catalog_{1};
  const double ratio_ = catalog_.CopyInPlanRatio();
  std::vector<Kernel> kernels_;
  std::vector<std::vector<TensorId>> inputs_;
  std::vector<std::vector<TensorId>> outputs_;
};

// The worked example of part_prices.cc.
TEST_F(PartPricesTest, WhoWritesNoPartsPaysForTheCopy) {
  const PartPrices prices(
      graph_, ratio_,
      {Measured(0, 50), Measured(1, 60), Measured(2, 6), Measured(3, 9), Measured(4, 5)});
  EXPECT_DOUBLE_EQ(prices.LatencyUs(Measured(0, 50)), 50 + 20);
  EXPECT_DOUBLE_EQ(prices.LatencyUs(Measured(1, 60)), 60);
  EXPECT_DOUBLE_EQ(prices.LatencyUs(Measured(2, 6)), 10);
  EXPECT_DOUBLE_EQ(prices.LatencyUs(Measured(3, 9)), 15);
  EXPECT_DOUBLE_EQ(prices.LatencyUs(Measured(4, 5)), 5);
  EXPECT_TRUE(prices.Touch(Measured(0, 50)));
  EXPECT_TRUE(prices.Touch(Measured(2, 6)));
}

TEST_F(PartPricesTest, WidthsPayByTheirOwnCopies) {
  const PartPrices prices(
      graph_, ratio_,
      {Measured(0, 50), Measured(1, 60), Measured(2, 6), Measured(3, 2.4, /*takes_all=*/true)});
  EXPECT_DOUBLE_EQ(prices.LatencyUs(Measured(0, 50)), 50 + 20);
  EXPECT_DOUBLE_EQ(prices.LatencyUs(Measured(0, 25, /*takes_all=*/true)), 25 + 8);
}

TEST_F(PartPricesTest, NobodyPaysWhereNobodyCouldWriteAPart) {
  const PartPrices prices(graph_, ratio_, {Measured(0, 50), Measured(2, 6)});
  EXPECT_DOUBLE_EQ(prices.LatencyUs(Measured(0, 50)), 50);
  EXPECT_DOUBLE_EQ(prices.LatencyUs(Measured(2, 6)), 6);
  EXPECT_FALSE(prices.Touch(Measured(2, 6)));
}

TEST_F(PartPricesTest, WhoReadsNoPartsPaysToo) {
  catalog_.takes_parts = false;
  const PartPrices none(graph_, ratio_, {Measured(1, 60), Measured(2, 6), Measured(4, 5)});
  EXPECT_DOUBLE_EQ(none.LatencyUs(Measured(4, 5)), 5);
  catalog_.takes_parts = true;
  catalog_.family_that_reads_none = "own";
  const PartPrices prices(graph_, ratio_, {Measured(1, 60), Measured(2, 6), Measured(4, 5)});
  EXPECT_DOUBLE_EQ(prices.LatencyUs(Measured(4, 5)), 5 + 20);
}

}  // namespace
}  // namespace plait
