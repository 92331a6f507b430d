#pragma once

#include <vector>

#include "gpu_worker/backends/cpu/loops/loops.h"
#include "gpu_worker/backends/cpu/run/kernel.h"

namespace plait {

// Elementwise groups run tile by tile: a tile of 1,024 elements of every operand is loaded into a
// register, a piece of memory that stays in the first-level cache; instructions compute tile from
// tile; results are stored. So Relu(x * scale + shift) becomes
//   r3 = multiply_add r0 r1 r2
//   r4 = relu r3
// and reads and writes memory once, whatever the number of nodes.

// One operation on whole tiles. A register holds a tile of floats, or of int64 for every other
// element type (bool as 0 and 1).
struct TileInstruction {
  using Function = void (*)(const TileInstruction& instruction, std::byte* const* registers,
                            int64_t size);
  Function run = nullptr;
  int operands[3] = {-1, -1, -1};  // registers; -1: not used
  int result = -1;                 // a register, which may be an operand's
  int loop = 0;                    // a UnaryLoop, BinaryLoop, CompareLoop or IntegerLoop, by `run`
  float alpha = 0;
  float beta = 0;
  DataType dtype = DataType::kUndefined;  // what an integer cast narrows to
};

// A group of elementwise nodes as straight-line code over tiles. The first registers are the
// operands.
struct TileProgram {
  std::vector<Operand> operands;
  std::vector<TileInstruction> instructions;
  int register_count = 0;
  struct Result {
    Operand memory;
    int tile_register;
  };
  std::vector<Result> results;
};

// Errors: InvalidArgument when the nodes are no group (IsElementwiseGroup); those of ConstantValue.
absl::StatusOr<TileProgram> CompileTileProgram(LoadContext* context);

}  // namespace plait
