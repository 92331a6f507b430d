#include "gpu_worker/backends/cpu/kernels/tile_instructions.h"

#include <algorithm>
#include <cstring>
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

// The place of an integer type of up to 32 bits among the loops.
int WidthOf(DataType dtype) {
  const int64_t bytes = BytesOf(dtype);
  return bytes == 4 ? 2 : static_cast<int>(bytes) - 1;
}

bool IsSigned(DataType dtype) {
  return dtype == DataType::kInt8 || dtype == DataType::kInt16 || dtype == DataType::kInt32;
}

// What a later instruction reads from the register has to be what it would read from memory: x may
// be y.
void NarrowAll(DataType dtype, const int64_t* x, int64_t size, int64_t* y) {
  if (dtype == DataType::kBool) {
    for (int64_t i = 0; i < size; ++i) y[i] = x[i] != 0 ? 1 : 0;
    return;
  }
  if (BytesOf(dtype) == 8 || dtype == DataType::kUndefined) {
    if (x != y) std::copy_n(x, size, y);
    return;
  }
  constexpr int64_t kBlock = 256;
  alignas(64) std::byte memory[kBlock * sizeof(int32_t)];
  for (int64_t i = 0; i < size; i += kBlock) {
    const int64_t count = std::min(kBlock, size - i);
    StoreIntegers(dtype, x + i, count, memory);
    LoadIntegers(dtype, memory, 1, count, y + i);
  }
}

template <typename Function>
void ForEach(const TileInstruction& instruction, std::byte* const* registers, int64_t size,
             const Function& function) {
  const int64_t* const a = Integers(instruction, registers, 0);
  const int64_t* const b = Integers(instruction, registers, 1);
  int64_t* const y = IntegerResult(instruction, registers);
  for (int64_t i = 0; i < size; ++i) y[i] = function(a[i], b[i]);
  NarrowAll(instruction.dtype, y, size, y);
}

template <typename Element>
void LoadAs(const std::byte* memory, int64_t stride, int64_t size, int64_t* tile) {
  const Element* const elements = reinterpret_cast<const Element*>(memory);
  for (int64_t i = 0; i < size; ++i) tile[i] = static_cast<int64_t>(elements[i * stride]);
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
  NarrowAll(instruction.dtype, y, size, y);
}

void RunNot(const TileInstruction& instruction, std::byte* const* registers, int64_t size) {
  const int64_t* const a = Integers(instruction, registers, 0);
  int64_t* const y = IntegerResult(instruction, registers);
  for (int64_t i = 0; i < size; ++i) y[i] = a[i] == 0 ? 1 : 0;
}

// A NaN equals nothing, and so stands for an infinity that does not count.
void RunIsInf(const TileInstruction& instruction, std::byte* const* registers, int64_t size) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  Loops().conversions.are_either(
      Floats(instruction, registers, 0), size, instruction.alpha != 0 ? -kInfinity : kNone,
      instruction.beta != 0 ? kInfinity : kNone, IntegerResult(instruction, registers));
}

void RunIsNaN(const TileInstruction& instruction, std::byte* const* registers, int64_t size) {
  Loops().conversions.are_nan(Floats(instruction, registers, 0), size,
                              IntegerResult(instruction, registers));
}

void RunToFloat(const TileInstruction& instruction, std::byte* const* registers, int64_t size) {
  Loops().conversions.to_floats(Integers(instruction, registers, 0), size,
                                FloatResult(instruction, registers));
}

// Toward zero; what does not fit saturates, and NaN is 0, so that nothing is undefined.
void RunToInteger(const TileInstruction& instruction, std::byte* const* registers, int64_t size) {
  const ConversionLoops& loops = Loops().conversions;
  const float* const a = Floats(instruction, registers, 0);
  int64_t* const y = IntegerResult(instruction, registers);
  if (instruction.dtype == DataType::kBool) return loops.to_truths(a, size, y);
  const auto [lowest, highest] = RangeOf(instruction.dtype);
  if (highest > std::numeric_limits<int32_t>::max()) {
    return loops.to_long_integers(a, size, lowest, highest, y);
  }
  loops.to_integers(a, size, static_cast<int32_t>(lowest), static_cast<int32_t>(highest), y);
}

void RunNarrow(const TileInstruction& instruction, std::byte* const* registers, int64_t size) {
  NarrowAll(instruction.dtype, Integers(instruction, registers, 0), size,
            IntegerResult(instruction, registers));
}

void RunFromDistances(const TileInstruction& instruction, std::byte* const* registers,
                      int64_t size) {
  const float* const a = Floats(instruction, registers, 0);
  int64_t* const y = IntegerResult(instruction, registers);
  for (int64_t i = 0; i < size; ++i) y[i] = static_cast<int32_t>(a[i] + instruction.alpha);
}

void LoadIntegers(DataType dtype, const std::byte* memory, int64_t stride, int64_t size,
                  int64_t* tile) {
  if (stride == 1 && BytesOf(dtype) < 8) {
    return Loops().conversions.widen[IsSigned(dtype) ? 1 : 0][WidthOf(dtype)](memory, size, tile);
  }
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
  if (BytesOf(dtype) < 8) return Loops().conversions.narrow[WidthOf(dtype)](tile, size, memory);
  std::memcpy(memory, tile, static_cast<size_t>(size) * sizeof(int64_t));
}

}  // namespace plait
