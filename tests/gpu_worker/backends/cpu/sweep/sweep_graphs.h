#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/random.h"

namespace plait {

// Layers of one kind at random: odd numbers of channels, sizes of a few pixels, strides, dilations,
// uneven padding, several images, and what follows the layer in its kernel.
struct SweepKind {
  absl::string_view name;               // CamelCase: part of a test's name
  int graphs;                           // how many are worth running
  std::string (*make)(Random& random);  // a graph in the text form
};

// Every kind. Layers take at most some millions of multiply-adds, because what the processor has no
// instructions for is interpreted. Pure.
absl::Span<const SweepKind> SweepKinds();

}  // namespace plait
