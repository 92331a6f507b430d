#pragma once

#include <vector>

#include "gpu_worker/backends/cpu/loops/loops.h"
#include "gpu_worker/backends/cpu/run/kernel.h"

// A program is straight-line code without jumps: what a node does is decided when the plan loads,
// and a run calls one function per instruction and tile. A tile is long enough that the call does
// not count and short enough that all registers of a program together stay in the caches.
namespace plait {

// Elementwise groups run tile by tile: a tile of 1,024 elements of every operand is loaded into a
// register, a piece of memory that stays in the first-level cache; instructions compute tile from
// tile; results are stored. So Relu(x * scale + shift) becomes
//   r3 = multiply_add r0 r1 r2
//   r4 = relu r3
// and reads and writes memory once, whatever the number of nodes.

// One operation on whole tiles. A register holds a tile of floats, those of 16 bits widened, or of
// int64 for every other element type (bool as 0 and 1).
// Which of the operands are read, and whether they hold floats, follows from `run` alone (see
// tile_instructions.h).
struct TileInstruction {
  using Function = void (*)(const TileInstruction& instruction, std::byte* const* registers,
                            int64_t size);
  Function run = nullptr;
  int operands[3] = {-1, -1, -1};  // registers; -1: not used
  int result = -1;                 // a register, which may be an operand's
  int loop = 0;                    // a UnaryLoop, BinaryLoop, CompareLoop or IntegerLoop, by `run`
  float alpha = 0;
  float beta = 0;
  DataType dtype = DataType::kUndefined;  // what integers wrap, or saturate, to
};

// A group of elementwise nodes as straight-line code over tiles. The first registers are the
// operands.
// Registers are numbered: operands, scale and shift of batch normalizations among them, in the
// order of `operands`, then one per value that an instruction computes. A value has one register
// for the whole program; which memory stands behind it is for the kernel to say.
struct TileProgram {
  std::vector<Operand> operands;
  // Registers of operands and results that hold floats although the tensor is of bytes: the loops
  // over floats are as short as bytes deserve.
  std::vector<int> bytes_as_floats;
  std::vector<TileInstruction> instructions;
  int register_count = 0;
  // A register that is stored when its tile is done; other registers never reach memory.
  struct Result {
    Operand memory;
    int tile_register;
  };
  std::vector<Result> results;
};

// Instructions are in node order, a variadic node having one per pair. Constants become operands
// but for what an instruction holds as a number: bounds of Clip, exponents 2, 3 and 1/2 of Pow.
// Errors: InvalidArgument when the nodes are no group (IsElementwiseGroup); those of ConstantValue.
absl::StatusOr<TileProgram> CompileTileProgram(LoadContext* context);

// The nodes of a recurrence as a program over columns: a register holds one row of a tensor, and
// operands and results are rows.
// Errors: InvalidArgument when the nodes are none (IsRecurrence); those of ConstantValue.
absl::StatusOr<TileProgram> CompileRowProgram(LoadContext* context);

}  // namespace plait
