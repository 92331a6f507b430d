#include "optimizer/kernels/format.h"

namespace plait {

absl::string_view FormatName(Format format) {
  switch (format) {
    case Format::kPlain:
      return "plain";
    case Format::kChannelsLast:
      return "channels_last";
  }
  return "unknown";
}

std::optional<Format> FormatFromName(absl::string_view name) {
  for (const Format format : {Format::kPlain, Format::kChannelsLast}) {
    if (name == FormatName(format)) return format;
  }
  return std::nullopt;
}

}  // namespace plait
