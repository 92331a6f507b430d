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

}  // namespace plait
