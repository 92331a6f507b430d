#include <algorithm>
#include <cmath>
#include <limits>

#include "gpu_worker/simulated_gpu/half_floats.h"
#include "gpu_worker/simulated_gpu/lanes.h"

// cvt: from type to type, by the rounding in its name.

namespace plait::simulated_gpu {
namespace {

constexpr InstructionClass kConversion = InstructionClass::kConversion;

template <typename To, typename From>
To Convert(From a) {
  return static_cast<To>(a);
}

// To the nearest integer, ties to even: what rint does in the rounding mode that programs start in.
double Nearest(double a) { return std::rint(a); }
double TowardsZero(double a) { return std::trunc(a); }
double Down(double a) { return std::floor(a); }
double Up(double a) { return std::ceil(a); }

// Out of range gives the nearest integer of the type, NaN zero.
template <typename To, typename From, double (*Round)(double)>
To ToInteger(From a) {
  if (std::isnan(a)) return 0;
  const double rounded = Round(static_cast<double>(a));
  // Powers of two, and as such exact in double even where the largest integer is not.
  const double above = std::ldexp(1.0, std::numeric_limits<To>::digits);
  if (rounded >= above) return std::numeric_limits<To>::max();
  const double lowest = std::is_signed_v<To> ? -above : 0.0;
  if (rounded <= lowest) return std::numeric_limits<To>::min();
  return static_cast<To>(rounded);
}

template <typename T, double (*Round)(double)>
T RoundToIntegral(T a) {
  return static_cast<T>(Round(a));
}

float Saturate(float a) { return std::isnan(a) || a < 0.0f ? 0.0f : std::min(a, 1.0f); }

// The first operand goes into the upper half.
template <uint16_t (*To)(float)>
uint32_t ToTwo(float high, float low) {
  return uint32_t{To(high)} << 16 | To(low);
}

template <typename To, typename From>
void AddInteger(OpcodeTable* table, const std::string& to, const std::string& from) {
  AddOpcode<Convert<To, From>>(table, "cvt." + to + "." + from, kConversion);
}

template <typename From>
void AddIntegersFrom(OpcodeTable* table, const std::string& from) {
  AddInteger<uint8_t, From>(table, "u8", from);
  AddInteger<int8_t, From>(table, "s8", from);
  AddInteger<uint16_t, From>(table, "u16", from);
  AddInteger<int16_t, From>(table, "s16", from);
  AddInteger<uint32_t, From>(table, "u32", from);
  AddInteger<int32_t, From>(table, "s32", from);
  AddInteger<uint64_t, From>(table, "u64", from);
  AddInteger<int64_t, From>(table, "s64", from);
  // The host rounds to nearest even, as .rn.
  AddOpcode<Convert<float, From>>(table, "cvt.rn.f32." + from, kConversion);
  AddOpcode<Convert<double, From>>(table, "cvt.rn.f64." + from, kConversion);
}

template <typename To, typename From>
void AddToInteger(OpcodeTable* table, const std::string& types) {
  AddOpcode<ToInteger<To, From, Nearest>>(table, "cvt.rni." + types, kConversion);
  AddOpcode<ToInteger<To, From, TowardsZero>>(table, "cvt.rzi." + types, kConversion);
  AddOpcode<ToInteger<To, From, Down>>(table, "cvt.rmi." + types, kConversion);
  AddOpcode<ToInteger<To, From, Up>>(table, "cvt.rpi." + types, kConversion);
}

template <typename From>
void AddFloatFrom(OpcodeTable* table, const std::string& from) {
  AddToInteger<uint32_t, From>(table, "u32." + from);
  AddToInteger<int32_t, From>(table, "s32." + from);
  AddToInteger<uint64_t, From>(table, "u64." + from);
  AddToInteger<int64_t, From>(table, "s64." + from);
  const std::string same = from + "." + from;
  AddOpcode<RoundToIntegral<From, Nearest>>(table, "cvt.rni." + same, kConversion);
  AddOpcode<RoundToIntegral<From, TowardsZero>>(table, "cvt.rzi." + same, kConversion);
  AddOpcode<RoundToIntegral<From, Down>>(table, "cvt.rmi." + same, kConversion);
  AddOpcode<RoundToIntegral<From, Up>>(table, "cvt.rpi." + same, kConversion);
}

}  // namespace

void AddConversionOpcodes(OpcodeTable* table) {
  AddIntegersFrom<uint8_t>(table, "u8");
  AddIntegersFrom<int8_t>(table, "s8");
  AddIntegersFrom<uint16_t>(table, "u16");
  AddIntegersFrom<int16_t>(table, "s16");
  AddIntegersFrom<uint32_t>(table, "u32");
  AddIntegersFrom<int32_t>(table, "s32");
  AddIntegersFrom<uint64_t>(table, "u64");
  AddIntegersFrom<int64_t>(table, "s64");
  AddFloatFrom<float>(table, "f32");
  AddFloatFrom<double>(table, "f64");
  AddOpcode<RoundToTf32>(table, "cvt.rna.tf32.f32", kConversion);
  AddOpcode<Saturate>(table, "cvt.sat.f32.f32", kConversion);
  AddOpcode<Convert<double, float>>(table, "cvt.f64.f32", kConversion);
  AddOpcode<Convert<float, double>>(table, "cvt.rn.f32.f64", kConversion);
  AddOpcode<FromHalf>(table, "cvt.f32.f16", kConversion);
  AddOpcode<ToHalf>(table, "cvt.rn.f16.f32", kConversion);
  AddOpcode<FromBfloat>(table, "cvt.f32.bf16", kConversion);
  AddOpcode<ToBfloat>(table, "cvt.rn.bf16.f32", kConversion);
  AddOpcode<ToTwo<ToHalf>>(table, "cvt.rn.f16x2.f32", kConversion);
  AddOpcode<ToTwo<ToBfloat>>(table, "cvt.rn.bf16x2.f32", kConversion);
}

}  // namespace plait::simulated_gpu
