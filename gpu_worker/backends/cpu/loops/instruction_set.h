#pragma once

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace plait {

// What instructions there are for vectors and matrices, by what kernels ask for; each set includes
// those before it.
enum class InstructionSet : uint8_t {
  kGeneric,     // what every processor of its kind has: SSE2 of x86-64
  kAvx2,        // with FMA
  kAvx512,      // F, BW, DQ and VL
  kAvx512Bf16,  // products of bf16 vectors
  kAmx,         // tiles of bytes and of bf16
};

// As in kInstructionSetNames.
absl::string_view InstructionSetName(InstructionSet set);
std::optional<InstructionSet> InstructionSetNamed(absl::string_view name);

// The best one that the processor has and the system lets this process use: vectors need registers
// that the system saves, and tiles a permission that it may refuse. Asked once. Thread-safe.
InstructionSet DetectedInstructionSet();

// The best one that kernels may use in this process: the detected one, unless it was limited.
// Thread-safe.
InstructionSet CurrentInstructionSet();

// Lets kernels that are loaded from now on use no better one than this. For the whole process,
// because libraries have one limit for a process, too; to be called before anything is loaded.
void LimitInstructionSet(InstructionSet best);

}  // namespace plait
