#pragma once

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gpu_worker/backends/cpu/microkernel/microkernel.h"

namespace plait {

// What a pointer of a microkernel may reach: the list begins at `data`, and all that it loads and
// stores lies in the `size_bytes` from there.
struct MicroOperand {
  std::byte* data = nullptr;
  int64_t size_bytes = 0;
  bool is_written = false;  // whether it may be stored to
};

// Does what the list says, in C++: the same bits as the assembled code for floats and bytes; of
// bf16 tiles those that the processor's manual describes. Before each access its address is
// compared with what the operand holds. Some thousand times slower than the processor, for
// processors that lack the instructions, for sanitizers, which see nothing of machine code, and for
// tests.
// Errors: those of CheckMicrokernel; InvalidArgument when the pointers are not as many; OutOfRange
// naming the instruction for an access outside of its operand, after which the results are worth
// nothing.
absl::Status Interpret(const Microkernel& microkernel, absl::Span<const MicroOperand> operands);

}  // namespace plait
