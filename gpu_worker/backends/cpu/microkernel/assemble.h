#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "gpu_worker/backends/cpu/microkernel/microkernel.h"

namespace plait {

// Machine code of a microkernel: memory that is executed and cannot be written any more. Free of
// state, so that any number of threads may run it.
class AssembledMicrokernel {
 public:
  virtual ~AssembledMicrokernel() = default;

  // Runs the list on as many pointers as it takes. Nothing is checked: what the list reaches from
  // them must be there. A list that uses tiles finds them configured (TileScope).
  void operator()(std::byte* const* pointers) const { code_(pointers); }

 protected:
  void (*code_)(std::byte* const* pointers) = nullptr;
};

// Writes the list as code of x86-64 with AVX2 or AVX-512, by its vectors, and AMX, if it uses
// tiles. It may be assembled on any processor, and run by those that have the instructions.
// Errors: those of CheckMicrokernel; ResourceExhausted without memory for it; FailedPrecondition
// where the system allows no code to be made, as under some sandboxes, or on another processor.
absl::StatusOr<std::unique_ptr<AssembledMicrokernel>> Assemble(const Microkernel& microkernel);

// Configures the calling thread's tiles for a list, and gives them back at the end of the scope: a
// thread that holds tiles makes every switch of the system to another thread dearer.
// REQUIRES: the processor has AMX and the process may use it (DetectedInstructionSet).
class TileScope {
 public:
  explicit TileScope(const Microkernel& microkernel);
  ~TileScope();
  TileScope(const TileScope&) = delete;
  TileScope& operator=(const TileScope&) = delete;
};

}  // namespace plait
