#include "gpu_worker/backends/cpu/loops/loops.h"

#include "gpu_worker/backends/cpu/loops/instruction_set.h"

namespace plait {

// The sets that the files are compiled with: a table may use all of its set anywhere.
const LoopTable& Loops() {
  switch (CurrentInstructionSet()) {
    case InstructionSet::kGeneric:
      return GenericLoops();
    case InstructionSet::kAvx2:
      return Avx2Loops();
    default:
      return Avx512Loops();
  }
}

const LoopTable* LoopsOfChannels(int64_t channels) {
  if (channels >= Loops().vector_floats) return &Loops();
  const bool has_narrower = CurrentInstructionSet() > InstructionSet::kAvx2;
  return has_narrower && channels >= Avx2Loops().vector_floats ? &Avx2Loops() : nullptr;
}

}  // namespace plait
