#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "gpu_worker/backends/cpu/offers/family_offer.h"

namespace plait {

// What a described GPU is said to run as one kernel: forms, such as a convolution with what follows
// it, and no algorithms, which only a library with a GPU could choose. Everything computes in fp32.
// Pure, and linked by the search child.
//
// Which nodes a form takes is asked of the cpu backend's families that have the same form; formats
// are this backend's own: row-major and channels-last for images, row-major for all else.
struct ModelFamily {
  absl::string_view name;  // one of those that optimizer/cost/kernel_blocks knows
  const FamilyOffer& like;
  // In the place of what `like` grows; nullptr: that.
  std::vector<std::vector<NodeId>> (*grow)(const Graph& graph, NodeId node) = nullptr;
  std::vector<FormatRow> (*formats)(const Graph& graph, absl::Span<const NodeId> nodes) = nullptr;
  bool takes_parts = false;  // see KernelCatalog::ReadsParts; it writes them too
  bool last_resort = false;  // offered only for nodes that no other family runs
  bool runs_alone = true;    // false: fused kernels only
};

// In the order of offers, which decides between kernels that take the same time.
absl::Span<const ModelFamily> ModelFamilies();

}  // namespace plait
