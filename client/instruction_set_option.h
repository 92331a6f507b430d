#pragma once

#include "base/arguments.h"
#include "base/instruction_set_names.h"

namespace plait {

// --instruction-set NAME: of verbs that compute on this machine's processor, or start who does.
inline constexpr OptionSpec kInstructionSetOption = {
    "--instruction-set",
    OptionKind::kText,
    "NAME",
    "use no better one: generic, avx2, avx512, avx512_bf16 or amx",
    "",
    ExpectedInstructionSet};

}  // namespace plait
