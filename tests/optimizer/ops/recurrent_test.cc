#include <numeric>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "optimizer/ir/text.h"
#include "tests/optimizer/ops/op_testing.h"

// RNN, GRU and LSTM beyond ONNX's published cases: values by hand, and forms that must agree.
namespace plait {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The outputs of an LSTM of one gate value each: weights and states of one number.
std::vector<double> StepOfLstm(const std::string& attributes, const std::string& peepholes) {
  return Results(
      absl::StrCat("%y = LSTM(%i0, %i1, %i2, _, _, %i3, %i4", peepholes,
                   ") {activations=[\"Affine\",\"Affine\",\"Affine\"], ", attributes, "}"),
      {Floats({1, 1, 1}, {2}), Floats({1, 4, 1}, {0.25f, 0.5f, -0.25f, 1}),
       Floats({1, 4, 1}, {1, 0, 0.5f, -1}), Floats({1, 1, 1}, {0.5f}), Floats({1, 1, 1}, {3}),
       Floats({1, 3}, {0.5f, -1, 1})});
}

TEST(LstmTest, GatesLieInTheOrderInputOutputForgetCandidate) {
  // i = 0.5 + 0.5 = 1, o = 1, f = -0.5 + 0.25, c = 2 - 0.5: cell -0.25 * 3 + 1.5.
  EXPECT_THAT(StepOfLstm("hidden_size=1", ""), AreNear({0.75}));
}

TEST(LstmTest, PeepholesOfInputAndForgetSeeTheLastCellThatOfOutputTheNext) {
  // i = 1 + 1.5, f = -0.25 + 3, cell 2.75 * 3 + 2.5 * 1.5 = 12, o = 1 - 12.
  EXPECT_THAT(StepOfLstm("hidden_size=1", ", %i5"), AreNear({-132}));
}

TEST(LstmTest, CoupledGatesAddUpToOne) {
  // f = 1 - i = 0, so that the cell is the candidate.
  EXPECT_THAT(StepOfLstm("input_forget=1", ""), AreNear({1.5}));
}

TEST(LstmTest, ClipBoundsWhatActivationsRead) {
  // i = 0.5, o = 0.5, f = -0.25, c = 0.5: cell -0.75 + 0.25 = -0.5.
  EXPECT_THAT(StepOfLstm("clip=0.5", ""), AreNear({-0.25}));
}

TEST(GruTest, ResetsTheStateOrTheProduct) {
  const std::vector<Tensor> inputs = {
      Floats({1, 1, 1}, {2}),          Floats({1, 3, 1}, {0.25f, 0.5f, 1}),
      Floats({1, 3, 1}, {1, 0, 0.5f}), Floats({1, 6}, {0, 0, 0.25f, 0, 0, 0.125f}),
      Floats({1, 1, 1}, {0.5f}),
  };
  const std::string node =
      "%y = GRU(%i0, %i1, %i2, %i3, _, %i4) {activations=[\"Affine\",\"Affine\"]";
  // z = 1, so that the state stays.
  EXPECT_THAT(Results(node + "}", inputs), AreNear({0.5}));
  std::vector<Tensor> half = inputs;
  half[1] = Floats({1, 3, 1}, {0, 0.25f, 1});
  // z = 0.5, r = 0.5: candidate 2.25 + 0.25 * 0.5 + 0.125, or 2.25 + 0.5 * (0.25 + 0.125).
  EXPECT_THAT(Results(node + "}", half), AreNear({0.5 * 2.5 + 0.25}));
  EXPECT_THAT(Results(node + ", linear_before_reset=1}", half), AreNear({0.5 * 2.4375 + 0.25}));
}

TEST(RnnTest, ValuesOfParametricActivationsAreConsumedInOrder) {
  // Of both directions: 2 * 3 + 1, then the second alpha and beta.
  EXPECT_THAT(
      Results("%y = RNN(%i0, %i1, %i2) {activations=[\"Affine\",\"HardSigmoid\"], "
              "activation_alpha=[2.0,0.125], activation_beta=[1.0,0.25], "
              "direction=\"bidirectional\"}",
              {Floats({1, 1, 1}, {3}), Floats({2, 1, 1}, {1, 1}), Floats({2, 1, 1}, {0, 0})}),
      AreNear({7, 0.625}));
}

std::vector<Tensor> Sequence() {
  return {Mixed({4, 2, 3}, 4), Mixed({1, 15, 3}, 5), Mixed({1, 15, 5}, 6)};
}

TEST(RecurrentTest, ReverseIsForwardOfTheSequenceBackwards) {
  std::vector<Tensor> inputs = Sequence();
  const std::vector<double> forward = Results("%y = GRU(%i0, %i1, %i2)", inputs);
  std::vector<double> x = inputs[0].AsDoubles();
  for (int step = 0; step < 2; ++step) {
    std::swap_ranges(x.begin() + step * 6, x.begin() + step * 6 + 6, x.begin() + (3 - step) * 6);
  }
  inputs[0] = Tensor::FromDoubles(inputs[0].type(), x);
  std::vector<double> reverse = Results("%y = GRU(%i0, %i1, %i2) {direction=\"reverse\"}", inputs);
  for (int step = 0; step < 2; ++step) {
    std::swap_ranges(reverse.begin() + step * 10, reverse.begin() + step * 10 + 10,
                     reverse.begin() + (3 - step) * 10);
  }
  EXPECT_THAT(reverse, AreNear(forward));
}

TEST(RecurrentTest, SequencesThatHaveEndedKeepTheirStateAndGiveZeros) {
  const std::string lengths = "const %n: int32[2] = [2,4]\n";
  for (const char* direction : {"forward", "reverse"}) {
    std::vector<Tensor> inputs = Sequence();
    const std::vector<double> y =
        Results(absl::StrCat("%y = GRU(%i0, %i1, %i2, _, %n) {direction=\"", direction, "\"}"),
                inputs, lengths);
    // The first image's own two steps alone.
    std::vector<double> x = inputs[0].AsDoubles();
    x.resize(12);
    inputs[0] = Tensor::FromDoubles({DataType::kFloat32, {2, 2, 3}}, x);
    const std::vector<double> alone =
        Results(absl::StrCat("%y = GRU(%i0, %i1, %i2) {direction=\"", direction, "\"}"), inputs);
    for (int i = 0; i < 5; ++i) {
      EXPECT_NEAR(y[i], alone[i], 1e-6);
      EXPECT_NEAR(y[10 + i], alone[10 + i], 1e-6);
      EXPECT_EQ(y[20 + i], 0);
      EXPECT_EQ(y[30 + i], 0);
    }
  }
}

TEST(RecurrentTest, RefusesWhatDoesNotAgree) {
  const auto types = [](const std::string& more, const std::string& attributes) {
    return OutputTypes(absl::StrCat(
        "graph {\ninput %x: float32[4,2,3]\ninput %w: float32[1,5,3]\ninput %r: float32[1,5,5]\n"
        "input %n: int32[3]\n%y = RNN(%x, %w, %r",
        more, ") {", attributes, "}\noutput %y\n}\n"));
  };
  EXPECT_EQ(types("", ""), "float32[4,1,2,5]");
  EXPECT_THAT(types("", "direction=\"bidirectional\""), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(types("", "direction=\"sideways\""), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(types("", "hidden_size=4"), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(types("", "layout=2"), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(types(", _, %n", ""), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(types("", "activations=[\"Tanh\",\"Tanh\"]"), HasSubstr("INVALID_ARGUMENT"));
  EXPECT_THAT(types("", "activations=[\"Sine\"]"), HasSubstr("Sine is not implemented"));
}

TEST(RecurrentTest, RefusesLengthsBeyondTheSequence) {
  const absl::StatusOr<Graph> graph = ParseTypedGraph(
      "graph {\ninput %x: float32[2,1,1]\ninput %w: float32[1,1,1]\ninput %r: float32[1,1,1]\n"
      "input %n: int32[1]\n%y = RNN(%x, %w, %r, _, %n)\noutput %y\n}\n");
  ASSERT_TRUE(graph.ok()) << graph.status();
  for (const int32_t length : {-1, 3}) {
    const std::vector<Tensor> inputs = {Floats({2, 1, 1}, {1, 2}), Floats({1, 1, 1}, {1}),
                                        Floats({1, 1, 1}, {1}),
                                        Tensor::FromInt64s({DataType::kInt32, {1}}, {length})};
    EXPECT_TRUE(absl::IsInvalidArgument(EvaluateGraph(*graph, inputs, NoWeights()).status()));
  }
}

}  // namespace
}  // namespace plait
