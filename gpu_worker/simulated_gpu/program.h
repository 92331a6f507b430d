#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu_worker/simulated_gpu/lanes.h"
#include "gpu_worker/simulated_gpu/ptx_module.h"

namespace plait::simulated_gpu {

// One decoded instruction. Every operand, a register, number or special register, is a slot: the
// index of 32 values in a warp's file. -1: none.
struct Instruction {
  enum class Kind {
    kLanes,  // `function`
    kLoad,
    kStore,
    kBranch,  // to `target`; lanes that part meet again at `reconvergence`
    kExit,
    kBarrier,      // bar.sync: the block
    kWarpBarrier,  // bar.warp.sync: orders the memory of a warp's lanes
    kShuffle,
    kVote,
    kProduct,  // mma.sync: the lanes of a warp multiply two matrices
    kActiveMask,
    kTrigger,  // griddepcontrol.launch_dependents
    kWait      // griddepcontrol.wait
  };
  enum class Shuffle { kUp, kDown, kButterfly, kIndex };
  enum class Vote { kBallot, kAny, kAll, kUniform };

  Kind kind = Kind::kLanes;
  InstructionClass instruction_class = InstructionClass::kControl;
  LaneFunction function = nullptr;
  int out[4] = {-1, -1, -1, -1};
  int in[4] = {-1, -1, -1, -1};
  int right[2] = {-1, -1};  // of a product, whose left side is in[0..3]
  int addend[4] = {-1, -1, -1, -1};
  int guard = -1;
  bool guard_negated = false;
  // Of a load or store: `count` elements of `element_bytes` at the address in in[0] plus `offset`
  // (in the parameter space at `offset` alone). The elements are out[0..3]; a store reads them.
  PtxVariable::Space space = PtxVariable::Space::kGlobal;
  int element_bytes = 0;
  int count = 1;
  bool sign_extends = false;
  bool read_only = false;  // .nc
  bool is_strong = false;  // st.volatile
  int64_t offset = 0;
  // Indices of instructions; the number of instructions stands for the kernel's end.
  int target = -1;
  int reconvergence = -1;
  Shuffle shuffle = Shuffle::kIndex;
  Vote vote = Vote::kBallot;
  int line = 0;  // of the PTX text
  std::string opcode;
};

// What a slot holds when a block begins.
struct Slot {
  enum class Kind { kRegister, kConstant, kThread, kThreads, kBlock, kBlocks, kLane, kWarp };
  Kind kind = Kind::kRegister;
  int axis = 0;        // of kThread (%tid), kThreads (%ntid), kBlock (%ctaid) and kBlocks
  uint64_t value = 0;  // of kConstant
};

// Where a variable lies in its space. Spaces are laid out with gaps, so that what is beyond one
// variable is beyond all. Addresses are multiples of 128: banks are what they are on a device.
struct PlacedVariable {
  std::string name;
  uint64_t address = 0;
  int64_t bytes = 0;
  std::vector<std::byte> initial;  // of module variables; `bytes` of them
};

struct PlacedParameter {
  int64_t offset = 0;
  int64_t bytes = 0;
};

// A kernel that is ready to run. Immutable and thread-safe.
struct Program {
  std::string kernel;
  std::vector<Instruction> instructions;
  std::vector<Slot> slots;
  std::vector<PlacedParameter> parameters;
  int64_t parameter_bytes = 0;
  std::vector<PlacedVariable> shared;
  std::vector<PlacedVariable> local;
  std::vector<PlacedVariable> module;  // .global and .const, those that the kernel names
  int threads_max = 0;                 // of a block, as the kernel declares it; 0: not said
  bool triggers = false;               // has a griddepcontrol.launch_dependents
  int architecture = 0;                // the least that runs it, from .target: 90 for sm_90
  // Races are looked for in units of this: the smallest access that the kernel makes there.
  int64_t global_granule_bytes = 16;
  int64_t shared_granule_bytes = 16;
};

// Decodes the kernel `name`, or the only one where `name` is empty.
// Errors: kNotFound; kUnimplemented for an opcode, type, directive or operand that the simulator
// does not know, with opcode, line and kernel; kInvalidArgument for text that is no PTX.
absl::StatusOr<Program> DecodeKernel(const PtxModule& module, absl::string_view name = "");

}  // namespace plait::simulated_gpu
