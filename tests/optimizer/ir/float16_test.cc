#include "optimizer/ir/float16.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace plait {
namespace {

struct Format {
  const char* name;
  double (*decode)(uint16_t);
  uint16_t (*encode)(double);
  int mantissa_bits;
  uint16_t infinity;
};

class Float16Test : public testing::TestWithParam<Format> {};

TEST_P(Float16Test, EveryPatternRoundTrips) {
  const Format& format = GetParam();
  for (int bits = 0; bits < 65536; ++bits) {
    const double value = format.decode(static_cast<uint16_t>(bits));
    const bool is_nan = (bits & 0x7FFF) > format.infinity;
    ASSERT_EQ(std::isnan(value), is_nan) << bits;
    ASSERT_EQ(format.encode(value), bits) << bits;
  }
}

TEST_P(Float16Test, ValuesFollowTheDefinition) {
  const Format& format = GetParam();
  const double one_step = std::ldexp(1, -format.mantissa_bits);
  const uint16_t one = format.encode(1);
  EXPECT_EQ(format.decode(one), 1);
  EXPECT_EQ(format.decode(one + 1), 1 + one_step);
  EXPECT_EQ(format.decode(one + (1 << format.mantissa_bits)), 2);
  EXPECT_EQ(format.decode(one | 0x8000), -1);
  EXPECT_EQ(format.decode(0), 0);
  EXPECT_TRUE(std::signbit(format.decode(0x8000)));
  EXPECT_EQ(format.decode(format.infinity), std::numeric_limits<double>::infinity());
  // The smallest normal number is one step of subnormals above the largest subnormal one.
  const uint16_t normal = static_cast<uint16_t>(1 << format.mantissa_bits);
  EXPECT_EQ(format.decode(normal) - format.decode(normal - 1), format.decode(1));
}

TEST_P(Float16Test, RoundsToTheNearestWithTiesToEven) {
  const Format& format = GetParam();
  const double infinity = std::numeric_limits<double>::infinity();
  // Between each finite number and the next one; behind the largest lies what would be the next
  // power of two, which is infinity.
  for (int bits = 0; bits < format.infinity; ++bits) {
    const double low = format.decode(static_cast<uint16_t>(bits));
    const double high = bits + 1 == format.infinity
                            ? 2 * low - format.decode(static_cast<uint16_t>(bits - 1))
                            : format.decode(static_cast<uint16_t>(bits + 1));
    const double middle = low + (high - low) / 2;
    const int even = bits % 2 == 0 ? bits : bits + 1;
    ASSERT_EQ(format.encode(middle), even) << bits;
    ASSERT_EQ(format.encode(-middle), even | 0x8000) << bits;
    ASSERT_EQ(format.encode(std::nextafter(middle, 0)), bits) << bits;
    ASSERT_EQ(format.encode(std::nextafter(middle, infinity)), bits + 1) << bits;
  }
  EXPECT_EQ(format.encode(std::numeric_limits<double>::max()), format.infinity);
  EXPECT_EQ(format.encode(std::numeric_limits<double>::denorm_min()), 0);
  EXPECT_EQ(format.encode(-std::numeric_limits<double>::min()), 0x8000);
}

TEST_P(Float16Test, ANanWithALowPayloadStaysANan) {
  const Format& format = GetParam();
  const double nan = std::nan("1");
  EXPECT_TRUE(std::isnan(format.decode(format.encode(nan))));
}

INSTANTIATE_TEST_SUITE_P(
    Formats, Float16Test,
    testing::Values(Format{"float16", Float16ToDouble, DoubleToFloat16, 10, 0x7C00},
                    Format{"bfloat16", Bfloat16ToDouble, DoubleToBfloat16, 7, 0x7F80}),
    [](const testing::TestParamInfo<Format>& info) { return std::string(info.param.name); });

TEST(Float16Test, KnownPatterns) {
  EXPECT_EQ(DoubleToFloat16(65504), 0x7BFF);
  EXPECT_EQ(DoubleToFloat16(65520), 0x7C00);
  EXPECT_EQ(DoubleToFloat16(std::ldexp(1, -24)), 0x0001);
  EXPECT_EQ(DoubleToFloat16(-2), 0xC000);
  EXPECT_EQ(DoubleToBfloat16(1), 0x3F80);
  EXPECT_EQ(DoubleToBfloat16(3.140625), 0x4049);
}

}  // namespace
}  // namespace plait
