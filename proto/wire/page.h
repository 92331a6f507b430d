#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

// Pages of listings (AIP-158). All functions are pure and thread-safe.
namespace plait::wire {

// The number of rows to read: the default for 0, at most kPageSizeMax.
// Errors: InvalidArgument when negative.
absl::StatusOr<int> PageSizeOf(int page_size);

// A token that says where the next page begins. `position` is any text; `filter` is whatever the
// listing depends on besides (tenant, state), so that a token of one listing does not fit another.
std::string PageToken(absl::string_view filter, absl::string_view position);

// The position of a token; empty for the empty token.
// Errors: InvalidArgument when PageToken did not make it for this filter.
absl::StatusOr<std::string> PagePosition(absl::string_view filter, absl::string_view token);

}  // namespace plait::wire
