#include "optimizer/kernels/format.h"

namespace plait {
namespace {

constexpr absl::string_view kNames[] = {
#define PLAIT_FORMAT(name, ...) #name,
#include "optimizer/kernels/formats.def"
#undef PLAIT_FORMAT
};

}  // namespace

absl::string_view FormatName(Format format) {
  // A number that came from elsewhere may be no format at all.
  const auto place = static_cast<size_t>(format);
  return place < kAllFormats.size() ? kNames[place] : "unknown";
}

std::optional<Format> FormatFromName(absl::string_view name) {
  for (const Format format : kAllFormats) {
    if (name == FormatName(format)) return format;
  }
  return std::nullopt;
}

}  // namespace plait
