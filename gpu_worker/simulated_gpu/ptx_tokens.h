#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plait::simulated_gpu {

// A word ("ld.global.f32", "%r1", "$L__BB0_2", "0f3F800000", "-" is none) or one other character.
struct PtxToken {
  absl::string_view text;  // of the text that was given
  int line = 0;            // from 1
};

// Splits a PTX text; comments and the strings of .pragma are left out, a final empty token ends it.
// Errors: kInvalidArgument with the line, for a comment or string without an end.
absl::StatusOr<std::vector<PtxToken>> TokensOf(absl::string_view text);

// Whether the token is a word. REQUIRES: nothing; the empty token is none.
bool IsWord(absl::string_view token);

}  // namespace plait::simulated_gpu
