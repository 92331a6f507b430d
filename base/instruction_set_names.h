#pragma once

#include "absl/strings/string_view.h"

namespace plait {

// What instructions a processor has, as options, settings and fingerprints name them; each includes
// those before it. What they mean is said in gpu_worker/backends/cpu/loops/instruction_set.h.
inline constexpr absl::string_view kInstructionSetNames[] = {"generic", "avx2", "avx512",
                                                             "avx512_bf16", "amx"};

// "" for one of the names, else what was expected: for options (OptionSpec::expected).
inline absl::string_view ExpectedInstructionSet(absl::string_view name) {
  for (const absl::string_view known : kInstructionSetNames) {
    if (name == known) return "";
  }
  return "generic, avx2, avx512, avx512_bf16 or amx";
}

}  // namespace plait
