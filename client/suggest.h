#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace plait {

// "did you mean X?" for the nearest of `known` by edit distance (Levenshtein 1966), or "see --help"
// when none is near.
std::string Suggestion(absl::string_view word, absl::Span<const absl::string_view> known);

}  // namespace plait
