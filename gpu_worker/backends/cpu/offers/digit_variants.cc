#include "gpu_worker/backends/cpu/offers/digit_variants.h"

namespace plait {

std::vector<std::string> DigitVariants(const Graph&, absl::Span<const NodeId>, const FormatRow&) {
  return {"x6"};
}

std::optional<std::string> MoreExactDigits(absl::string_view variant) {
  if (variant == "x6") return "x8";
  return std::nullopt;
}

std::optional<std::string> LessExactDigits(absl::string_view variant) {
  if (variant == "x6") return "x3";
  return std::nullopt;
}

}  // namespace plait
