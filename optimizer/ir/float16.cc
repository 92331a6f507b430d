#include "optimizer/ir/float16.h"

#include <bit>

namespace plait {
namespace {

constexpr int kDoubleMantissaBits = 52;
constexpr int kDoubleBias = 1023;
constexpr int kDoubleExponentMask = 0x7FF;

// A float of 16 bits: sign, exponent, mantissa. Its value is
//   (-1)^sign * 1.mantissa * 2^(exponent - bias), subnormal (exponent 0): 0.mantissa * 2^(1 -
//   bias).
template <int kExponentBits, int kMantissaBits>
struct SmallFloat {
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr int kExponentMask = (1 << kExponentBits) - 1;
  static constexpr uint64_t kInfinity = uint64_t{kExponentMask} << kMantissaBits;
  static constexpr int kDroppedBits = kDoubleMantissaBits - kMantissaBits;

  // The smallest subnormal number, a power of two.
  static constexpr double kSmallest = std::bit_cast<double>(
      uint64_t{kDoubleBias + 1 - kBias - kMantissaBits} << kDoubleMantissaBits);

  // Every value is a double, so that nothing is rounded here.
  static double Decode(uint16_t bits) {
    const uint64_t sign = uint64_t{bits} >> 15 << 63;
    const int exponent = (bits >> kMantissaBits) & kExponentMask;
    const uint64_t mantissa = bits & ((1u << kMantissaBits) - 1);
    if (exponent == kExponentMask) {
      return std::bit_cast<double>(sign | uint64_t{kDoubleExponentMask} << kDoubleMantissaBits |
                                   mantissa << kDroppedBits);
    }
    // Subnormals have the exponent of the smallest normal numbers and no implicit one.
    if (exponent == 0) {
      const double magnitude = static_cast<double>(mantissa) * kSmallest;
      return sign != 0 ? -magnitude : magnitude;
    }
    return std::bit_cast<double>(sign |
                                 uint64_t(exponent - kBias + kDoubleBias) << kDoubleMantissaBits |
                                 mantissa << kDroppedBits);
  }

  static uint16_t Encode(double value) {
    const uint64_t bits = std::bit_cast<uint64_t>(value);
    const uint16_t sign = static_cast<uint16_t>(bits >> 63 << 15);
    const int exponent = static_cast<int>(bits >> kDoubleMantissaBits) & kDoubleExponentMask;
    const uint64_t mantissa = bits & ((uint64_t{1} << kDoubleMantissaBits) - 1);
    if (exponent == kDoubleExponentMask) return sign | EncodeSpecial(mantissa);
    return sign | EncodeFinite(exponent - kDoubleBias, mantissa);
  }

 private:
  static uint16_t EncodeSpecial(uint64_t mantissa) {
    if (mantissa == 0) return kInfinity;
    const uint64_t kept = mantissa >> kDroppedBits;
    // A payload that lies in the dropped bits must not turn the NaN into infinity.
    return static_cast<uint16_t>(kInfinity |
                                 (kept != 0 ? kept : uint64_t{1} << (kMantissaBits - 1)));
  }

  // Cuts the significand (1.mantissa as a 53-bit integer) by `shift` bits and rounds half to even.
  // A subnormal result is cut further, since its exponent cannot fall. For 1 + 2^-11 as binary16:
  // the shift is 42, the rest is exactly half, the kept part 0x400 is even, and 1 comes out.
  static uint16_t EncodeFinite(int exponent, uint64_t mantissa) {
    if (exponent > kBias) return kInfinity;
    const uint64_t significand = mantissa | uint64_t{1} << kDoubleMantissaBits;
    const bool subnormal = exponent < 1 - kBias;
    const int shift = kDroppedBits + (subnormal ? 1 - kBias - exponent : 0);
    // Beyond 53 bits even the leading one is below half of the smallest subnormal number.
    if (shift > kDoubleMantissaBits + 1) return 0;
    const uint64_t half = uint64_t{1} << (shift - 1);
    const uint64_t rest = significand & ((uint64_t{1} << shift) - 1);
    uint64_t rounded = significand >> shift;
    if (rest > half || (rest == half && (rounded & 1) != 0)) ++rounded;
    // A carry out of the mantissa raises the exponent, from subnormal to normal and up to infinity.
    if (!subnormal) rounded += static_cast<uint64_t>(exponent + kBias - 1) << kMantissaBits;
    return static_cast<uint16_t>(rounded);
  }
};

using Float16 = SmallFloat<5, 10>;
using Bfloat16 = SmallFloat<8, 7>;

}  // namespace

double Float16ToDouble(uint16_t bits) { return Float16::Decode(bits); }
double Bfloat16ToDouble(uint16_t bits) { return Bfloat16::Decode(bits); }
uint16_t DoubleToFloat16(double value) { return Float16::Encode(value); }
uint16_t DoubleToBfloat16(double value) { return Bfloat16::Encode(value); }

}  // namespace plait
