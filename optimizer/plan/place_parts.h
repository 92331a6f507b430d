#pragma once

#include <map>

#include "absl/types/span.h"
#include "optimizer/cover/cover.h"
#include "optimizer/kernels/kernel_catalog.h"

namespace plait {

// Where a value lies inside of another.
struct PartPlace {
  FormattedTensor whole;
  int64_t first_channel = 0;
  friend bool operator==(const PartPlace&, const PartPlace&) = default;
};

// A launch with the kernel that a schedule has chosen for it.
struct PlacedStep {
  const CoverStep* step;
  const Kernel* kernel;
};

// Chooses which values are written where a Concat's result has them, so that the Concat has nothing
// to do for them: those whose writer and readers all can (KernelCatalog::ReadsParts, WritesParts).
// Later Concats choose first, so that those of a dense block, each of which adds to the one before,
// become parts of the last. What is returned passes CheckParts. `steps` are in an order that can
// run. Pure.
std::map<FormattedTensor, PartPlace> PlaceParts(const Graph& graph,
                                                absl::Span<const PlacedStep> steps,
                                                const KernelCatalog& catalog);

}  // namespace plait
