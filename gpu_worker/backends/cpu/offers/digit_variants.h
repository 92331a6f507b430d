#pragma once

#include "gpu_worker/backends/cpu/offers/family_offer.h"

namespace plait {

// The variants of families that multiply in digits, by how many products of digits make one (see
// microkernel/digit_microkernel.h): x6, and x8 where that is refused; x3 where a plan may lose
// accuracy. Pure and thread-safe.

std::vector<std::string> DigitVariants(const Graph& graph, absl::Span<const NodeId> nodes,
                                       const FormatRow& row);

// See FamilyOffer::more_exact.
std::optional<std::string> MoreExactDigits(absl::string_view variant);

// See FamilyOffer::less_exact.
std::optional<std::string> LessExactDigits(absl::string_view variant);

}  // namespace plait
