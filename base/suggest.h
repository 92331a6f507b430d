#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

// What a person may have meant by a word that plait does not know. Pure and thread-safe.
namespace plait {

// The nearest of `known` by edit distance (Levenshtein 1966), the first one of several that are
// equally near; empty when none is near enough to be meant: about a third of the letters may be
// wrong, and words of more than 100 bytes have no neighbours.
absl::string_view NearestName(absl::string_view word, absl::Span<const absl::string_view> known);

// The end of an error message: "did you mean X?" for the nearest of `known`, or "see --help" when
// there is none.
std::string Suggestion(absl::string_view word, absl::Span<const absl::string_view> known);

}  // namespace plait
