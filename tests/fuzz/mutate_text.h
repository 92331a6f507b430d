#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "base/random.h"

namespace plait {

// The text of a graph or a plan with one small change of the kind that slips through a parser: a
// number, type, operator, family or format that is another one, a word from elsewhere in the text,
// a line less or twice, two lines exchanged, a byte that is another. Equal generators make equal
// changes.
std::string MutateText(absl::string_view text, Random* random);

}  // namespace plait
