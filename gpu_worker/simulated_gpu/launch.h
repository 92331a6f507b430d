#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gpu_worker/simulated_gpu/device_memory.h"
#include "gpu_worker/simulated_gpu/program.h"

// A CUDA device in software, for tests and tools on machines without one: it runs the PTX that
// NVRTC makes of our generated kernels, and refuses what a device would do by luck. A map:
//   ptx_module.h   PTX -> instructions as they are written
//   program.h      -> decoded: every opcode known, or an error
//   lanes.h        what opcodes without memory and control do, in the files opcodes_*.cc
//   device_memory.h, race_cells.h   memory, and what may be done with it
//   launch.h, kernel_run.h   runs a grid: block by block, warp by warp
//   touches.h      what memory an operation touches
//   traffic.h      what memory would have had to do
//
// It is our reading of the manual "Parallel Thread Execution ISA", not NVIDIA's implementation:
// what it accepts may still fail on a device, above all in ptxas, in approximate functions
// (computed here in double), in everything about time, and in all that this folder refuses to
// decode. What it refuses is refused for a reason that the manual gives.
//
// How a kernel runs: the blocks one after another in a random order, the warps of a block, in a
// random order too, each until it comes to a barrier. The 32 lanes of a warp go in step. Where a
// branch parts them one side waits until the other comes to the branch's immediate post-dominator.
// Since races are found by what orders accesses and not by what happened, one order is enough.

namespace plait::simulated_gpu {

struct LaunchShape {
  std::array<unsigned, 3> grid = {1, 1, 1};
  std::array<unsigned, 3> block = {1, 1, 1};
};

struct LaunchOptions {
  // Of the orders of blocks and warps. A register that nobody has set holds a NaN where it is even,
  // else a huge number: a kernel that gives other bits for the next seed uses one.
  uint64_t seed = 1;
  // Instructions of warps; beyond it the launch is taken for endless.
  int64_t instructions_max = int64_t{1} << 32;
  bool count_traffic = true;
};

// What one load or store of the kernel's text did, over all warps. A sector is 32 bytes of global
// memory, the least that moves; a wavefront is one pass of shared memory, of which every bank gives
// 4 bytes.
struct AccessReport {
  int line = 0;
  std::string opcode;
  std::string range;  // what the first access met: an operand or a variable
  int64_t requests = 0;
  int64_t bytes_asked = 0;
  int64_t sectors = 0;           // global memory only
  int64_t wavefronts = 0;        // shared memory only
  int64_t wavefronts_least = 0;  // as many as the bytes need if no two meet in a bank
};

struct LaunchReport {
  int64_t instructions = 0;                                // of warps
  int64_t lane_instructions = 0;                           // of lanes that were active
  std::array<int64_t, kInstructionClasses> by_class = {};  // of warps, by InstructionClass
  std::vector<AccessReport> accesses;                      // those that were made, in text order
};

// Runs the kernel to its end. `arguments`: for each parameter the address of its value, as for
// cudaLaunchKernel. What memory holds after an error is open.
// Errors, with kernel, PTX line, opcode, block and thread: as DeviceMemory::Load() and Store();
// kAborted for a barrier that only a part of the block comes to, or that some have left already;
// for a shuffle, vote or warp barrier whose mask names lanes that are not there or leaves out one
// that is; for a shuffle from such a lane. kInvalidArgument for a shape or arguments that are not
// the kernel's; kResourceExhausted.
absl::StatusOr<LaunchReport> Launch(const Program& program, DeviceMemory& memory,
                                    const LaunchShape& shape,
                                    absl::Span<const void* const> arguments,
                                    const LaunchOptions& options = {});

}  // namespace plait::simulated_gpu
