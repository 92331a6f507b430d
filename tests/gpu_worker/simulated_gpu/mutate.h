#pragma once

#include <optional>
#include <string>

#include "base/random.h"
#include "gpu_worker/simulated_gpu/ptx_module.h"

namespace plait::simulated_gpu {

// The faults that are planted.
enum class Mutation {
  kDropBarrier,   // bar.sync goes
  kShiftOffset,   // a load or store reaches one element further
  kDropGuard,     // a conditional branch is never taken: a bound is not checked
  kSwapStride,    // a constant factor, or a shift that is one, is another
  kMoveBound,     // a comparison with a constant is with the next one
  kDropStore,     // a store goes
  kOtherShuffle,  // a shuffle takes another lane's value
};
inline constexpr int kMutations = 7;
const char* MutationName(Mutation mutation);

struct Mutant {
  // In words: "2 of 3, setp.gt.u32 %p, %r, 41" is the second comparison of three that the fault
  // fits to. Registers have no numbers, so that the words stay when a compiler counts in another
  // way.
  std::string place;
  PtxKernel kernel;
  // The kernel without the fault, that stores to address 0 as soon as the instruction with it would
  // do anything else: a branch is taken, a number is that at which comparisons differ, what is
  // multiplied is not zero; and for all other faults, the instruction is reached. A run that comes
  // to its end shows that the mutant does the same as the kernel, with the same operands.
  PtxKernel alarmed;
};

// Plants one fault at a random place of the kernel; nothing if it has none for that fault.
std::optional<Mutant> Mutate(Mutation mutation, Random& random, const PtxKernel& kernel);

}  // namespace plait::simulated_gpu
