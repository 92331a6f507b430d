#pragma once

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace plait {

// How a tensor's elements lie in memory. The shape stays the logical one.
enum class Format : uint8_t {
  kPlain,         // row-major
  kChannelsLast,  // rank 4 as N,H,W,C
};

absl::string_view FormatName(Format format);  // "plain", "channels_last"

// The inverse of FormatName; nullopt for any other text.
std::optional<Format> FormatFromName(absl::string_view name);

}  // namespace plait
