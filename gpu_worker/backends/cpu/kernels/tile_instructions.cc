#include "gpu_worker/backends/cpu/kernels/tile_instructions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace plait {
namespace {

// A register is a slot, which is aligned to a cache line, or a whole number of elements into a
// tensor, which is too: the casts are aligned.
const float* Floats(const TileInstruction& instruction, std::byte* const* registers, int operand) {
  return reinterpret_cast<const float*>(registers[instruction.operands[operand]]);
}

const int64_t* Integers(const TileInstruction& instruction, std::byte* const* registers,
                        int operand) {
  return reinterpret_cast<const int64_t*>(registers[instruction.operands[operand]]);
}

float* FloatResult(const TileInstruction& instruction, std::byte* const* registers) {
  return reinterpret_cast<float*>(registers[instruction.result]);
}

int64_t* IntegerResult(const TileInstruction& instruction, std::byte* const* registers) {
  return reinterpret_cast<int64_t*>(registers[instruction.result]);
}

int64_t Narrowed(DataType dtype, int64_t value) {
  switch (dtype) {
    case DataType::kBool:
      return value != 0 ? 1 : 0;
    case DataType::kInt32:
      return static_cast<int32_t>(value);
    case DataType::kUint8:
      return static_cast<uint8_t>(value);
    case DataType::kInt8:
      return static_cast<int8_t>(value);
    case DataType::kUint16:
      return static_cast<uint16_t>(value);
    case DataType::kInt16:
      return static_cast<int16_t>(value);
    case DataType::kUint32:
      return static_cast<uint32_t>(value);
    default:
      return value;
  }
}

template <typename Integer>
std::pair<int64_t, int64_t> LimitsOf() {
  return {std::numeric_limits<Integer>::min(), std::numeric_limits<Integer>::max()};
}

// The smallest and the largest value of a type that registers are narrowed to.
std::pair<int64_t, int64_t> RangeOf(DataType dtype) {
  switch (dtype) {
    case DataType::kInt32:
      return LimitsOf<int32_t>();
    case DataType::kUint8:
      return LimitsOf<uint8_t>();
    case DataType::kInt8:
      return LimitsOf<int8_t>();
    case DataType::kUint16:
      return LimitsOf<uint16_t>();
    case DataType::kInt16:
      return LimitsOf<int16_t>();
    case DataType::kUint32:
      return LimitsOf<uint32_t>();
    default:
      return LimitsOf<int64_t>();
  }
}

// Sums wrap around, as two's complement does; signed overflow would be undefined.
int64_t Wrapped(uint64_t value) { return static_cast<int64_t>(value); }

// Division by zero and of the smallest by -1 have no value: 0 and the smallest stand for it.
int64_t Quotient(int64_t a, int64_t b) {
  if (b == 0) return 0;
  return b == -1 ? Wrapped(0 - static_cast<uint64_t>(a)) : a / b;
}

// What a later instruction reads from the register has to be what it would read from memory.
void NarrowAll(DataType dtype, int64_t* tile, int64_t size) {
  if (BytesOf(dtype) == 8 || dtype == DataType::kUndefined) return;
  for (int64_t i = 0; i < size; ++i) tile[i] = Narrowed(dtype, tile[i]);
}

template <typename Function>
void ForEach(const TileInstruction& instruction, std::byte* const* registers, int64_t size,
             const Function& function) {
  const int64_t* const a = Integers(instruction, registers, 0);
  const int64_t* const b = Integers(instruction, registers, 1);
  int64_t* const y = IntegerResult(instruction, registers);
  for (int64_t i = 0; i < size; ++i) y[i] = function(a[i], b[i]);
  NarrowAll(instruction.dtype, y, size);
}

template <typename Element>
void LoadAs(const std::byte* memory, int64_t stride, int64_t size, int64_t* tile) {
  const Element* const elements = reinterpret_cast<const Element*>(memory);
  for (int64_t i = 0; i < size; ++i) tile[i] = static_cast<int64_t>(elements[i * stride]);
}

template <typename Element>
void StoreAs(const int64_t* tile, int64_t size, std::byte* memory) {
  Element* const elements = reinterpret_cast<Element*>(memory);
  for (int64_t i = 0; i < size; ++i) elements[i] = static_cast<Element>(tile[i]);
}

}  // namespace

void RunUnary(const TileInstruction& instruction, std::byte* const* registers, int64_t size) {
  Loops().unary[instruction.loop](Floats(instruction, registers, 0),
                                  FloatResult(instruction, registers), size, instruction.alpha,
                                  instruction.beta);
}

void RunBinary(const TileInstruction& instruction, std::byte* const* registers, int64_t size) {
  Loops().binary[instruction.loop](Floats(instruction, registers, 0),
                                   Floats(instruction, registers, 1),
                                   FloatResult(instruction, registers), size);
}

void RunCompare(const TileInstruction& instruction, std::byte* const* registers, int64_t size) {
  Loops().compare[instruction.loop](Floats(instruction, registers, 0),
                                    Floats(instruction, registers, 1),
                                    IntegerResult(instruction, registers), size);
}

void RunMultiplyAdd(const TileInstruction& instruction, std::byte* const* registers, int64_t size) {
  Loops().multiply_add(Floats(instruction, registers, 0), Floats(instruction, registers, 1),
                       Floats(instruction, registers, 2), FloatResult(instruction, registers),
                       size);
}

void RunSelect(const TileInstruction& instruction, std::byte* const* registers, int64_t size) {
  Loops().select(Integers(instruction, registers, 0), Floats(instruction, registers, 1),
                 Floats(instruction, registers, 2), FloatResult(instruction, registers), size);
}

void RunIntegerSelect(const TileInstruction& instruction, std::byte* const* registers,
                      int64_t size) {
  const int64_t* const condition = Integers(instruction, registers, 0);
  const int64_t* const a = Integers(instruction, registers, 1);
  const int64_t* const b = Integers(instruction, registers, 2);
  int64_t* const y = IntegerResult(instruction, registers);
  for (int64_t i = 0; i < size; ++i) y[i] = condition[i] != 0 ? a[i] : b[i];
}

void RunInteger(const TileInstruction& instruction, std::byte* const* registers, int64_t size) {
  const auto each = [&](const auto& function) { ForEach(instruction, registers, size, function); };
  using Unsigned = uint64_t;
  switch (static_cast<IntegerLoop>(instruction.loop)) {
    case IntegerLoop::kAdd:
      return each([](int64_t a, int64_t b) { return Wrapped(Unsigned(a) + Unsigned(b)); });
    case IntegerLoop::kSub:
      return each([](int64_t a, int64_t b) { return Wrapped(Unsigned(a) - Unsigned(b)); });
    case IntegerLoop::kMul:
      return each([](int64_t a, int64_t b) { return Wrapped(Unsigned(a) * Unsigned(b)); });
    case IntegerLoop::kDiv:
      return each([](int64_t a, int64_t b) { return Quotient(a, b); });
    case IntegerLoop::kMax:
      return each([](int64_t a, int64_t b) { return std::max(a, b); });
    case IntegerLoop::kMin:
      return each([](int64_t a, int64_t b) { return std::min(a, b); });
    case IntegerLoop::kAnd:
      return each([](int64_t a, int64_t b) { return a & b; });
    case IntegerLoop::kOr:
      return each([](int64_t a, int64_t b) { return a | b; });
    case IntegerLoop::kXor:
      return each([](int64_t a, int64_t b) { return a ^ b; });
    case IntegerLoop::kEqual:
      return each([](int64_t a, int64_t b) { return int64_t{a == b}; });
    case IntegerLoop::kGreater:
      return each([](int64_t a, int64_t b) { return int64_t{a > b}; });
    case IntegerLoop::kGreaterOrEqual:
      return each([](int64_t a, int64_t b) { return int64_t{a >= b}; });
    case IntegerLoop::kLess:
      return each([](int64_t a, int64_t b) { return int64_t{a < b}; });
    case IntegerLoop::kLessOrEqual:
      return each([](int64_t a, int64_t b) { return int64_t{a <= b}; });
  }
}

// Registers hold what is below 0 of signed types only, but for uint64, whose shift to the right
// knows no sign.
void RunShift(const TileInstruction& instruction, std::byte* const* registers, int64_t size) {
  const auto bits = static_cast<uint64_t>(8 * BytesOf(instruction.dtype));
  const bool is_unsigned = instruction.dtype == DataType::kUint64;
  if (instruction.loop == 0) {
    return ForEach(instruction, registers, size, [bits](int64_t a, int64_t b) {
      const auto by = static_cast<uint64_t>(b);
      return by < bits ? Wrapped(static_cast<uint64_t>(a) << by) : 0;
    });
  }
  ForEach(instruction, registers, size, [bits, is_unsigned](int64_t a, int64_t b) {
    const auto by = static_cast<uint64_t>(b);
    if (is_unsigned) return by < bits ? Wrapped(static_cast<uint64_t>(a) >> by) : 0;
    return a >> std::min<uint64_t>(by, 63);
  });
}

void RunBitwiseNot(const TileInstruction& instruction, std::byte* const* registers, int64_t size) {
  const int64_t* const a = Integers(instruction, registers, 0);
  int64_t* const y = IntegerResult(instruction, registers);
  for (int64_t i = 0; i < size; ++i) y[i] = ~a[i];
  NarrowAll(instruction.dtype, y, size);
}

void RunNot(const TileInstruction& instruction, std::byte* const* registers, int64_t size) {
  const int64_t* const a = Integers(instruction, registers, 0);
  int64_t* const y = IntegerResult(instruction, registers);
  for (int64_t i = 0; i < size; ++i) y[i] = a[i] == 0 ? 1 : 0;
}

void RunIsInf(const TileInstruction& instruction, std::byte* const* registers, int64_t size) {
  const float* const a = Floats(instruction, registers, 0);
  int64_t* const y = IntegerResult(instruction, registers);
  for (int64_t i = 0; i < size; ++i) {
    const bool counts = (a[i] < 0 ? instruction.alpha : instruction.beta) != 0;
    y[i] = std::isinf(a[i]) && counts ? 1 : 0;
  }
}

void RunIsNaN(const TileInstruction& instruction, std::byte* const* registers, int64_t size) {
  const float* const a = Floats(instruction, registers, 0);
  int64_t* const y = IntegerResult(instruction, registers);
  for (int64_t i = 0; i < size; ++i) y[i] = std::isnan(a[i]) ? 1 : 0;
}

void RunToFloat(const TileInstruction& instruction, std::byte* const* registers, int64_t size) {
  const int64_t* const a = Integers(instruction, registers, 0);
  float* const y = FloatResult(instruction, registers);
  for (int64_t i = 0; i < size; ++i) y[i] = static_cast<float>(a[i]);
}

// Toward zero; what does not fit saturates, and NaN is 0, so that nothing is undefined.
void RunToInteger(const TileInstruction& instruction, std::byte* const* registers, int64_t size) {
  const float* const a = Floats(instruction, registers, 0);
  int64_t* const y = IntegerResult(instruction, registers);
  if (instruction.dtype == DataType::kBool) {
    for (int64_t i = 0; i < size; ++i) y[i] = a[i] != 0 ? 1 : 0;
    return;
  }
  const auto [low, high] = RangeOf(instruction.dtype);
  for (int64_t i = 0; i < size; ++i) {
    if (a[i] >= 0x1p63f) {
      y[i] = high;  // no float is the largest int64
    } else {
      const float bounded = std::isnan(a[i]) ? 0.0f : std::max(a[i], -0x1p63f);
      y[i] = std::clamp(static_cast<int64_t>(bounded), low, high);
    }
  }
}

void RunNarrow(const TileInstruction& instruction, std::byte* const* registers, int64_t size) {
  const int64_t* const a = Integers(instruction, registers, 0);
  int64_t* const y = IntegerResult(instruction, registers);
  for (int64_t i = 0; i < size; ++i) y[i] = Narrowed(instruction.dtype, a[i]);
}

void RunFromDistances(const TileInstruction& instruction, std::byte* const* registers,
                      int64_t size) {
  const float* const a = Floats(instruction, registers, 0);
  int64_t* const y = IntegerResult(instruction, registers);
  for (int64_t i = 0; i < size; ++i) y[i] = static_cast<int32_t>(a[i] + instruction.alpha);
}

void LoadIntegers(DataType dtype, const std::byte* memory, int64_t stride, int64_t size,
                  int64_t* tile) {
  switch (dtype) {
    case DataType::kInt64:
    case DataType::kUint64:
      return LoadAs<int64_t>(memory, stride, size, tile);
    case DataType::kInt32:
      return LoadAs<int32_t>(memory, stride, size, tile);
    case DataType::kUint32:
      return LoadAs<uint32_t>(memory, stride, size, tile);
    case DataType::kInt16:
      return LoadAs<int16_t>(memory, stride, size, tile);
    case DataType::kUint16:
      return LoadAs<uint16_t>(memory, stride, size, tile);
    case DataType::kInt8:
      return LoadAs<int8_t>(memory, stride, size, tile);
    default:
      return LoadAs<uint8_t>(memory, stride, size, tile);
  }
}

void StoreIntegers(DataType dtype, const int64_t* tile, int64_t size, std::byte* memory) {
  switch (dtype) {
    case DataType::kInt64:
    case DataType::kUint64:
      return StoreAs<int64_t>(tile, size, memory);
    case DataType::kInt32:
    case DataType::kUint32:
      return StoreAs<uint32_t>(tile, size, memory);
    case DataType::kInt16:
    case DataType::kUint16:
      return StoreAs<uint16_t>(tile, size, memory);
    default:
      return StoreAs<uint8_t>(tile, size, memory);
  }
}

}  // namespace plait
