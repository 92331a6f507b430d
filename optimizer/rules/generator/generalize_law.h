#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "optimizer/rules/laws/law.h"

namespace plait {

// The law at more than the generator's core says, as far as that is proved:
//   - halves of a Split become parts of any sizes, where both sides have types at such. MatMul(x,
//   z)
//     and MatMul(y, z) are the parts of MatMul(Concat(x, y), z), whatever rows x and y have;
//   - kernels of 3x3 with one stride and padding become any (Law::any_window), as does the window
//     of AveragePools, when the sides agree at windows of many forms.
// What is not proved (verify_law.h) stays as it was. Pure.
Law Generalized(const Law& law, uint64_t seed);

// VerifyLaw, and at windows of many forms where those are a variable. What passes may be a rule.
// Errors: those of VerifyLaw; FailedPrecondition where the sides differ at some windows.
absl::Status VerifyGeneral(const Law& law, uint64_t seed);

}  // namespace plait
