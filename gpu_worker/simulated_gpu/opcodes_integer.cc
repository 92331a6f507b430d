#include <algorithm>
#include <limits>

#include "gpu_worker/simulated_gpu/lanes.h"

// Arithmetic on integers, which wraps around: it is computed on unsigned numbers.

namespace plait::simulated_gpu {
namespace {

// uint64_t for all that is no wider, so that nothing is promoted to a signed int on the way.
using Wide = unsigned __int128;

template <typename T>
T IntegerAdd(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
template <typename T>
T IntegerSubtract(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
template <typename T>
T MultiplyLow(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
template <typename T>
T MultiplyHigh(T a, T b) {
  using Product = std::conditional_t<std::is_signed_v<T>, __int128, Wide>;
  return static_cast<T>((static_cast<Product>(a) * static_cast<Product>(b)) >> (8 * sizeof(T)));
}
template <typename T>
T MultiplyAddLow(T a, T b, T c) {
  return IntegerAdd(MultiplyLow(a, b), c);
}
template <typename T>
T MultiplyAddHigh(T a, T b, T c) {
  return IntegerAdd(MultiplyHigh(a, b), c);
}
template <typename T, typename Result>
Result MultiplyWide(T a, T b) {
  return MultiplyLow(static_cast<Result>(a), static_cast<Result>(b));
}
template <typename T, typename Result>
Result MultiplyAddWide(T a, T b, Result c) {
  return IntegerAdd(MultiplyWide<T, Result>(a, b), c);
}

// By zero: PTX leaves the result open.
template <typename T>
T IntegerDivide(T a, T b) {
  if (b == 0) return static_cast<T>(~T{0});
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return IntegerSubtract(T{0}, a);
  return static_cast<T>(a / b);
}
template <typename T>
T Remainder(T a, T b) {
  if (b == 0) return a;
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
  return static_cast<T>(a % b);
}
template <typename T>
T IntegerMinimum(T a, T b) {
  return std::min(a, b);
}
template <typename T>
T IntegerMaximum(T a, T b) {
  return std::max(a, b);
}
template <typename T>
T IntegerNegate(T a) {
  return IntegerSubtract(T{0}, a);
}
template <typename T>
T IntegerAbsolute(T a) {
  return a < 0 ? IntegerNegate(a) : a;
}

using InstructionClass::kInteger;

template <typename T>
void AddOf(OpcodeTable* table, const std::string& type) {
  AddOpcode<IntegerAdd<T>>(table, "add." + type, kInteger);
  AddOpcode<IntegerSubtract<T>>(table, "sub." + type, kInteger);
  AddOpcode<MultiplyLow<T>>(table, "mul.lo." + type, kInteger);
  AddOpcode<MultiplyHigh<T>>(table, "mul.hi." + type, kInteger);
  AddOpcode<MultiplyAddLow<T>>(table, "mad.lo." + type, kInteger);
  AddOpcode<MultiplyAddHigh<T>>(table, "mad.hi." + type, kInteger);
  AddOpcode<IntegerDivide<T>>(table, "div." + type, kInteger);
  AddOpcode<Remainder<T>>(table, "rem." + type, kInteger);
  AddOpcode<IntegerMinimum<T>>(table, "min." + type, kInteger);
  AddOpcode<IntegerMaximum<T>>(table, "max." + type, kInteger);
  if constexpr (std::is_signed_v<T>) {
    AddOpcode<IntegerNegate<T>>(table, "neg." + type, kInteger);
    AddOpcode<IntegerAbsolute<T>>(table, "abs." + type, kInteger);
  }
}

template <typename T, typename Result>
void AddWide(OpcodeTable* table, const std::string& type) {
  AddOpcode<MultiplyWide<T, Result>>(table, "mul.wide." + type, kInteger);
  AddOpcode<MultiplyAddWide<T, Result>>(table, "mad.wide." + type, kInteger);
}

// Two products of 16 bits and 8 bits, the lower (lo) or upper (hi) two of the second's bytes.
template <typename A, typename B, int kFirst>
uint32_t DotOfTwo(uint32_t a, uint32_t b, uint32_t c) {
  int64_t sum = 0;
  for (int i = 0; i < 2; ++i) {
    sum += int64_t{static_cast<A>(a >> (16 * i))} * static_cast<B>(b >> (8 * (kFirst + i)));
  }
  return c + static_cast<uint32_t>(sum);
}
template <typename A, typename B>
uint32_t DotOfFour(uint32_t a, uint32_t b, uint32_t c) {
  int64_t sum = 0;
  for (int i = 0; i < 4; ++i) {
    sum += int64_t{static_cast<A>(a >> (8 * i))} * static_cast<B>(b >> (8 * i));
  }
  return c + static_cast<uint32_t>(sum);
}

template <typename A16, typename A8, typename B8>
void AddDots(OpcodeTable* table, const std::string& types) {
  AddOpcode<DotOfTwo<A16, B8, 0>>(table, "dp2a.lo." + types, kInteger);
  AddOpcode<DotOfTwo<A16, B8, 2>>(table, "dp2a.hi." + types, kInteger);
  AddOpcode<DotOfFour<A8, B8>>(table, "dp4a." + types, kInteger);
}

}  // namespace

void AddIntegerOpcodes(OpcodeTable* table) {
  AddOf<uint16_t>(table, "u16");
  AddOf<int16_t>(table, "s16");
  AddOf<uint32_t>(table, "u32");
  AddOf<int32_t>(table, "s32");
  AddOf<uint64_t>(table, "u64");
  AddOf<int64_t>(table, "s64");
  AddWide<uint16_t, uint32_t>(table, "u16");
  AddWide<int16_t, int32_t>(table, "s16");
  AddWide<uint32_t, uint64_t>(table, "u32");
  AddWide<int32_t, int64_t>(table, "s32");
  AddDots<uint16_t, uint8_t, uint8_t>(table, "u32.u32");
  AddDots<int16_t, int8_t, int8_t>(table, "s32.s32");
}

}  // namespace plait::simulated_gpu
