#pragma once

#include <vector>

#include "gpu_worker/backends/cpu/loops/loops.h"
#include "gpu_worker/backends/cpu/run/kernel.h"

namespace plait {

// One operation on whole tiles. A register holds a tile of floats, or of int64 for every other
// element type (bool as 0 and 1).
struct TileInstruction {
  using Function = void (*)(const TileInstruction& instruction, std::byte* const* registers,
                            int64_t size);
  Function run = nullptr;
  int operands[3] = {-1, -1, -1};
  int result = -1;
  int loop = 0;  // a UnaryLoop, BinaryLoop, CompareLoop or IntegerLoop, by `run`
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
