#include "gpu_worker/backends/cpu/loops/byte_loops.h"

#include "gpu_worker/backends/cpu/loops/byte_loops_vnni.h"
#include "gpu_worker/backends/cpu/loops/instruction_set.h"

namespace plait {
namespace {

// Not every processor with AVX-512 has them; what they compute differs in nothing, so that they are
// no instruction set of their own.
bool HasInstructions() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512vnni") != 0;
#else
  return false;
#endif
}

}  // namespace

const ByteLoops* CurrentByteLoops() {
  static const bool has_instructions = HasInstructions();
  const bool may_use = CurrentInstructionSet() >= InstructionSet::kAvx512;
  return has_instructions && may_use ? VnniByteLoops() : nullptr;
}

}  // namespace plait
