#pragma once

#include "gpu_worker/backends/cpu/offers/family_offer.h"

namespace plait {

// The variants of families that multiply in planes of bf16, by how many products of planes make one
// (see microkernel/bf16_microkernel.h): x6, which is as exact as fp32; x3 and x1 where a plan may
// lose accuracy. Pure and thread-safe.

std::vector<std::string> Bf16Variants(const Graph& graph, absl::Span<const NodeId> nodes,
                                      const FormatRow& row);

// See FamilyOffer::more_exact.
std::optional<std::string> MoreExactBf16(absl::string_view variant);

// See FamilyOffer::less_exact.
std::optional<std::string> LessExactBf16(absl::string_view variant);

}  // namespace plait
