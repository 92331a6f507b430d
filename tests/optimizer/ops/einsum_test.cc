#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/optimizer/ops/op_testing.h"

namespace plait {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(EinsumTest, SumsDiagonalsAndRepeatsAxesOfOne) {
  EXPECT_THAT(Results("%y = Einsum(%i0) {equation=\"ii\"}", {Counting({3, 3})}), ElementsAre(15));
  EXPECT_THAT(Results("%y = Einsum(%i0) {equation=\"...ii->...i\"}", {Counting({1, 2, 2})}),
              ElementsAre(1, 4));
  EXPECT_THAT(Results("%y = Einsum(%i0, %i1) {equation=\"ij,ij->i\"}",
                      {Counting({2, 1}), Counting({1, 3})}),
              ElementsAre(6, 12));
  EXPECT_THAT(Results("%y = Einsum(%i0, %i1, %i2) {equation=\"i,i,j->ji\"}",
                      {Counting({2}), Counting({2}), Counting({2})}),
              ElementsAre(1, 4, 2, 8));
}

TEST(EinsumTest, WithoutAnArrowLettersThatStandOnceAreSorted) {
  EXPECT_THAT(Results("%y = Einsum(%i0) {equation=\"ba\"}", {Counting({2, 3})}),
              ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(Results("%y = Einsum(%i0) {equation=\"a B\"}", {Counting({2, 2})}),
              ElementsAre(1, 3, 2, 4));
}

TEST(EinsumTest, RefusesEquationsThatAreNone) {
  const auto types = [](const std::string& equation) {
    return OutputTypes(absl::StrCat(
        "graph {\ninput %a: float32[2,3]\ninput %b: float32[3,4]\n%y = Einsum(%a, %b) {equation=\"",
        equation, "\"}\noutput %y\n}\n"));
  };
  EXPECT_EQ(types("ij,jk->ki"), "float32[4,2]");
  EXPECT_THAT(types("...i,...j->"), HasSubstr("axis 0 of input 1 must have 2 elements"));
  for (const char* equation :
       {"", "ij", "ij,jk,k", "ij,jk->il", "ij,jk->ii", "ij,jk->ik->k", "ij,ik->jk", "i,jk", "i1,jk",
        "i.j,jk", "..i..,jk", "......ij,jk", "ij,jk->i.k", "ijk,jk"}) {
    EXPECT_THAT(types(equation), HasSubstr("INVALID_ARGUMENT")) << equation;
  }
}

}  // namespace
}  // namespace plait
