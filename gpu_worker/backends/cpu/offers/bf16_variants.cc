#include "gpu_worker/backends/cpu/offers/bf16_variants.h"

namespace plait {

std::vector<std::string> Bf16Variants(const Graph&, absl::Span<const NodeId>, const FormatRow&) {
  return {"x6"};
}

std::optional<std::string> MoreExactBf16(absl::string_view variant) {
  if (variant == "x1") return "x3";
  if (variant == "x3") return "x6";
  return std::nullopt;
}

std::optional<std::string> LessExactBf16(absl::string_view variant) {
  if (variant == "x6") return "x3";
  if (variant == "x3") return "x1";
  return std::nullopt;
}

}  // namespace plait
