// The loops between floats and integers, of every instruction set that this processor has, against
// the reference's conversions, bit for bit.
#include "gpu_worker/backends/cpu/loops/conversion_loops.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "gpu_worker/backends/cpu/loops/loops.h"
#include "optimizer/ops/shared/convert_number.h"

namespace plait {
namespace {

std::vector<const LoopTable*> TablesOfAllSets() {
  std::vector<const LoopTable*> tables = {&GenericLoops()};
  const std::string best = Loops().instruction_set;
  if (best == "avx2" || best == "avx512") tables.push_back(&Avx2Loops());
  if (best == "avx512") tables.push_back(&Avx512Loops());
  return tables;
}

// Around every bound of an integer type, and what is no number; an odd count, so that vectors have
// a rest.
std::vector<float> AwkwardFloats() {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> values = {0.0f, 0.5f, 1.0f, 1.5f, 2.5f, 1e-40f, 1e30f, kInfinity};
  for (const int bits : {7, 8, 15, 16, 23, 24, 31, 32, 62, 63, 64}) {
    const float bound = std::ldexp(1.0f, bits);
    for (const float x : {bound, bound - 1, bound - 0.5f, bound + 1, std::nextafter(bound, 0.0f),
                          std::nextafter(bound, kInfinity)}) {
      values.push_back(x);
    }
  }
  const size_t count = values.size();
  for (size_t i = 0; i < count; ++i) values.push_back(-values[i]);
  values.push_back(std::numeric_limits<float>::quiet_NaN());
  values.push_back(-std::numeric_limits<float>::quiet_NaN());
  if (values.size() % 2 == 0) values.push_back(-3.25f);
  return values;
}

TEST(ConversionLoopsTest, FloatsBecomeTheIntegersOfTheReference) {
  const std::vector<float> x = AwkwardFloats();
  const auto size = static_cast<int64_t>(x.size());
  struct Bounds {
    DataType dtype;
    int64_t lowest;
    int64_t highest;
  };
  for (const LoopTable* table : TablesOfAllSets()) {
    const ConversionLoops& loops = table->conversions;
    std::vector<int64_t> y(x.size());
    for (const Bounds& bounds :
         {Bounds{DataType::kInt8, -128, 127}, Bounds{DataType::kUint8, 0, 255},
          Bounds{DataType::kInt16, -32768, 32767}, Bounds{DataType::kUint16, 0, 65535},
          Bounds{DataType::kInt32, std::numeric_limits<int32_t>::min(),
                 std::numeric_limits<int32_t>::max()},
          Bounds{DataType::kUint32, 0, 4294967295},
          Bounds{DataType::kInt64, std::numeric_limits<int64_t>::min(),
                 std::numeric_limits<int64_t>::max()}}) {
      for (const bool is_long : {false, true}) {
        if (!is_long && bounds.highest > std::numeric_limits<int32_t>::max()) continue;
        if (is_long) {
          loops.to_long_integers(x.data(), size, bounds.lowest, bounds.highest, y.data());
        } else {
          loops.to_integers(x.data(), size, static_cast<int32_t>(bounds.lowest),
                            static_cast<int32_t>(bounds.highest), y.data());
        }
        for (size_t i = 0; i < x.size(); ++i) {
          EXPECT_EQ(y[i], IntegerOf(x[i], bounds.dtype))
              << table->instruction_set << " " << DataTypeName(bounds.dtype) << " of " << x[i];
        }
      }
    }
  }
}

TEST(ConversionLoopsTest, FloatsBecomeTruths) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> x = AwkwardFloats();
  const auto size = static_cast<int64_t>(x.size());
  for (const LoopTable* table : TablesOfAllSets()) {
    const ConversionLoops& loops = table->conversions;
    std::vector<int64_t> truths(x.size());
    std::vector<int64_t> nans(x.size());
    std::vector<int64_t> infinities(x.size());
    std::vector<int64_t> positive(x.size());
    loops.to_truths(x.data(), size, truths.data());
    loops.are_nan(x.data(), size, nans.data());
    loops.are_either(x.data(), size, -kInfinity, kInfinity, infinities.data());
    loops.are_either(x.data(), size, std::nanf(""), kInfinity, positive.data());
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(truths[i], IntegerOf(x[i], DataType::kBool)) << table->instruction_set << x[i];
      EXPECT_EQ(nans[i], std::isnan(x[i]) ? 1 : 0) << table->instruction_set << x[i];
      EXPECT_EQ(infinities[i], std::isinf(x[i]) ? 1 : 0) << table->instruction_set << x[i];
      EXPECT_EQ(positive[i], std::isinf(x[i]) && x[i] > 0 ? 1 : 0) << table->instruction_set;
    }
  }
}

TEST(ConversionLoopsTest, IntegersBecomeTheNearestFloats) {
  std::vector<int64_t> x = {0, 1, -1, std::numeric_limits<int64_t>::min(),
                            std::numeric_limits<int64_t>::max()};
  for (int bits = 20; bits < 63; ++bits) {
    for (const int64_t off : {-3, -1, 0, 1, 3}) {
      x.push_back((int64_t{1} << bits) + off);
      x.push_back(-(int64_t{3} << (bits - 1)) + off);
    }
  }
  for (const LoopTable* table : TablesOfAllSets()) {
    std::vector<float> y(x.size());
    table->conversions.to_floats(x.data(), static_cast<int64_t>(x.size()), y.data());
    for (size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(y[i], static_cast<float>(x[i])) << table->instruction_set << " of " << x[i];
    }
  }
}

template <typename Integer>
void ExpectWidensAndNarrows(const ConversionLoops& loops, int is_signed, int width) {
  std::vector<Integer> x;
  for (int i = -301; i < 300; ++i) x.push_back(static_cast<Integer>(int64_t{i} * 77777777777));
  const auto size = static_cast<int64_t>(x.size());
  std::vector<int64_t> wide(x.size());
  loops.widen[is_signed][width](reinterpret_cast<const std::byte*>(x.data()), size, wide.data());
  for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(wide[i], static_cast<int64_t>(x[i]));
  for (int64_t& number : wide) number += int64_t{5} << 40;
  std::vector<Integer> back(x.size());
  loops.narrow[width](wide.data(), size, reinterpret_cast<std::byte*>(back.data()));
  EXPECT_EQ(back, x);
}

TEST(ConversionLoopsTest, IntegersOfMemoryAreWidenedAndNarrowed) {
  for (const LoopTable* table : TablesOfAllSets()) {
    SCOPED_TRACE(table->instruction_set);
    ExpectWidensAndNarrows<uint8_t>(table->conversions, 0, 0);
    ExpectWidensAndNarrows<uint16_t>(table->conversions, 0, 1);
    ExpectWidensAndNarrows<uint32_t>(table->conversions, 0, 2);
    ExpectWidensAndNarrows<int8_t>(table->conversions, 1, 0);
    ExpectWidensAndNarrows<int16_t>(table->conversions, 1, 1);
    ExpectWidensAndNarrows<int32_t>(table->conversions, 1, 2);
  }
}

}  // namespace
}  // namespace plait
