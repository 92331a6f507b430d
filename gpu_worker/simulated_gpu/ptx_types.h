#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace plait::simulated_gpu {

// The bytes of a fundamental type, such as "u32" (no dot); 0 for what is no such type and for
// "pred", which has no place in memory.
int64_t BytesOfType(absl::string_view type);

// Whether it is s8, s16, s32 or s64: a load of it fills a wider register with the sign.
bool IsSigned(absl::string_view type);

}  // namespace plait::simulated_gpu
