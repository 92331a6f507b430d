#include "server/search_child/input_sets.h"

#include <gtest/gtest.h>

#include "optimizer/ir/text.h"
#include "proto/wire/error.h"

namespace plait {
namespace {

// One set: names and sizes in bytes.
InputSets SetOf(std::initializer_list<std::pair<const char*, int64_t>> values) {
  InputSets sets;
  v1::InputSet& set = *sets.Add();
  for (const auto& [name, size_bytes] : values) {
    v1::InputValue& value = *set.add_values();
    value.set_name(name);
    value.mutable_blob()->set_size_bytes(size_bytes);
  }
  return sets;
}

Graph GraphWithInputs(const std::string& inputs) {
  return *ParseGraph("graph {\n" + inputs +
                     "  input %x: float32[2]\n  %y: float32[2] = Relu(%x)\n  output %y\n}");
}

TEST(InputSetsTest, TheSetAndTheInputThatDoNotFitAreNamed) {
  const Graph graph = GraphWithInputs("  input %mask: bool[2]\n");
  InputSets sets = SetOf({{"mask", 2}, {"x", 8}});
  EXPECT_TRUE(CheckInputSets(sets, graph).ok());
  *sets.Add() = SetOf({{"mask", 2}, {"x", 4}})[0];
  const absl::Status status = CheckInputSets(sets, graph);
  EXPECT_EQ(wire::ReasonOf(status), v1::ERROR_REASON_INVALID_REQUEST);
  EXPECT_EQ(status.message(), "input_sets[1]: input x: is float32[2] of 8 bytes, its value has 4");
}

TEST(InputSetsTest, APartOfAModelGetsTheInputsThatItHas) {
  const InputSets sets = SetOf({{"mask", 2}, {"x", 8}});
  const InputSets of_part = InputSetsFor(GraphWithInputs(""), sets);
  ASSERT_EQ(of_part.size(), 1);
  ASSERT_EQ(of_part[0].values_size(), 1);
  EXPECT_EQ(of_part[0].values(0).name(), "x");
}

TEST(InputSetsTest, APartBehindAnOpaqueNodeGetsNone) {
  const InputSets sets = SetOf({{"mask", 2}, {"x", 8}});
  EXPECT_EQ(InputSetsFor(GraphWithInputs("  input %made_before: float32[2]\n"), sets).size(), 0);
}

}  // namespace
}  // namespace plait
