#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace plait {

// How a tensor's elements lie in memory; the shape stays the logical one. One value per line of
// formats.def, the first of which, row-major, is what graphs are read and written in.
//   kPlain         row-major
//   kChannelsLast  rank 4 as N,H,W,C
//   kF16, kF16ChannelsLast, kBf16, kBf16ChannelsLast
//                  the same of float32 elements that are rounded to 16 bits
// TF32 has none: such numbers lie as float32, and only products round what they read of them.
// Numbers are never stored: files and messages have the names, so that lines may be added anywhere
// but in front.
enum class Format : uint8_t {
#define PLAIT_FORMAT(name, Name, ...) k##Name,
#include "optimizer/kernels/formats.def"
#undef PLAIT_FORMAT
};

// Every format, in order.
constexpr std::array kAllFormats = {
#define PLAIT_FORMAT(name, Name, ...) Format::k##Name,
#include "optimizer/kernels/formats.def"
#undef PLAIT_FORMAT
};

constexpr int kFormatCount = static_cast<int>(kAllFormats.size());

// The format's name in formats.def: how plans and profile keys write it.
// "unknown" for a number that is no format. Lives forever.
absl::string_view FormatName(Format format);

// The inverse of FormatName; nullopt for any other text, which may come from a plan in a file or
// from another process.
std::optional<Format> FormatFromName(absl::string_view name);

}  // namespace plait
