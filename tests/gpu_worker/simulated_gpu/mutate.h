#pragma once

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

// Plants one fault at a random place of the kernel. Returns the place in words, or the empty string
// if the kernel has none for that fault.
std::string Mutate(Mutation mutation, Random& random, PtxKernel* kernel);

}  // namespace plait::simulated_gpu
