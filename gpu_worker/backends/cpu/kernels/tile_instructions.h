#pragma once

#include "gpu_worker/backends/cpu/kernels/elementwise_program.h"

namespace plait {

// The functions that a TileInstruction runs. Each reads and writes registers of the kinds it names.

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

void RunUnary(const TileInstruction& instruction, std::byte* const* registers, int64_t size);
void RunBinary(const TileInstruction& instruction, std::byte* const* registers, int64_t size);
void RunCompare(const TileInstruction& instruction, std::byte* const* registers, int64_t size);
void RunMultiplyAdd(const TileInstruction& instruction, std::byte* const* registers, int64_t size);
void RunSelect(const TileInstruction& instruction, std::byte* const* registers, int64_t size);
void RunIntegerSelect(const TileInstruction& instruction, std::byte* const* registers,
                      int64_t size);
void RunInteger(const TileInstruction& instruction, std::byte* const* registers, int64_t size);
void RunNot(const TileInstruction& instruction, std::byte* const* registers, int64_t size);
void RunIsNaN(const TileInstruction& instruction, std::byte* const* registers, int64_t size);
void RunToFloat(const TileInstruction& instruction, std::byte* const* registers, int64_t size);
void RunToInteger(const TileInstruction& instruction, std::byte* const* registers, int64_t size);
void RunNarrow(const TileInstruction& instruction, std::byte* const* registers, int64_t size);

// Integer elements in memory to a register and back.
void LoadIntegers(DataType dtype, const std::byte* memory, int64_t stride, int64_t size,
                  int64_t* tile);
void StoreIntegers(DataType dtype, const int64_t* tile, int64_t size, std::byte* memory);

}  // namespace plait
