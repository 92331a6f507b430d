#pragma once

#include <cstdint>

#include "optimizer/kernels/format.h"

namespace plait {

// A set of formats, one bit each: those that a tensor exists in, or is wanted in.
using FormatMask = uint16_t;
static_assert(kFormatCount <= 16, "a mask has a bit for each format");

// Every format there is: what a tensor at a free boundary exists in.
constexpr FormatMask kAnyFormat = static_cast<FormatMask>((1u << kFormatCount) - 1);

// The set of one format.
constexpr FormatMask MaskOf(Format format) {
  return static_cast<FormatMask>(1u << static_cast<int>(format));
}

// Whether the set has the format.
constexpr bool Has(FormatMask mask, Format format) { return (mask & MaskOf(format)) != 0; }

}  // namespace plait
