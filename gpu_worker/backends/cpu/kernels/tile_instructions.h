#pragma once

#include "gpu_worker/backends/cpu/kernels/elementwise_program.h"

namespace plait {

// The functions that a TileInstruction runs. Each reads and writes registers of the kinds it names,
// `size` elements from their start; `registers` has the address of each. Pure but for the result's
// register, and so thread-safe on registers of one's own.

// y = a op b of int64: what has no float loop, or another meaning there. Comparisons give 0 or 1.
// Booleans are 0 and 1, so that And, Or and Xor of bits are those of truths.
enum class IntegerLoop : uint8_t {
  kAdd,
  kAnd,
  kDiv,
  kMax,
  kMin,
  kMul,
  kOr,
  kSub,
  kXor,
  kEqual,
  kGreater,
  kGreaterOrEqual,
  kLess,
  kLessOrEqual,
};

// Of floats: the loop of LoopTable that `loop` names, with alpha and beta.
void RunUnary(const TileInstruction& instruction, std::byte* const* registers, int64_t size);
void RunBinary(const TileInstruction& instruction, std::byte* const* registers, int64_t size);
// Floats in, a truth out.
void RunCompare(const TileInstruction& instruction, std::byte* const* registers, int64_t size);
// a * b + c, and a ? b : c with a truth a and floats or integers.
void RunMultiplyAdd(const TileInstruction& instruction, std::byte* const* registers, int64_t size);
void RunSelect(const TileInstruction& instruction, std::byte* const* registers, int64_t size);
void RunIntegerSelect(const TileInstruction& instruction, std::byte* const* registers,
                      int64_t size);
// The IntegerLoop that `loop` names. Sums wrap around, in the instruction's dtype where it has one;
// a division by zero gives 0.
void RunInteger(const TileInstruction& instruction, std::byte* const* registers, int64_t size);
// An integer of the instruction's dtype, shifted by another: to the left where `loop` is 0, else to
// the right. By all its bits or more, nothing but the sign is left of it, and that to the right.
void RunShift(const TileInstruction& instruction, std::byte* const* registers, int64_t size);
// Of an integer, every bit turned.
void RunBitwiseNot(const TileInstruction& instruction, std::byte* const* registers, int64_t size);
// A truth of a truth, and of a float. Infinities count as alpha (below 0) and beta say, 0 or 1.
void RunNot(const TileInstruction& instruction, std::byte* const* registers, int64_t size);
void RunIsInf(const TileInstruction& instruction, std::byte* const* registers, int64_t size);
void RunIsNaN(const TileInstruction& instruction, std::byte* const* registers, int64_t size);
// Casts. Floats to integers toward zero, saturating at the bounds of the instruction's dtype, NaN
// as 0; integers are narrowed to it as two's complement does (bool: 1 for all but 0).
void RunToFloat(const TileInstruction& instruction, std::byte* const* registers, int64_t size);
void RunToInteger(const TileInstruction& instruction, std::byte* const* registers, int64_t size);
void RunNarrow(const TileInstruction& instruction, std::byte* const* registers, int64_t size);

// Integers of floats that are whole numbers, and not large, less a zero point, which alpha is.
void RunFromDistances(const TileInstruction& instruction, std::byte* const* registers,
                      int64_t size);

// Integer elements in memory to a register and back. `stride` in elements; stores are contiguous.
// Widening on the way in and narrowing on the way out leaves one loop per operation instead of one
// per element type. A stride of 0 repeats the first element.
// REQUIRES: an integer type or bool. uint64 is int64 of the same bits.
void LoadIntegers(DataType dtype, const std::byte* memory, int64_t stride, int64_t size,
                  int64_t* tile);
void StoreIntegers(DataType dtype, const int64_t* tile, int64_t size, std::byte* memory);

}  // namespace plait
