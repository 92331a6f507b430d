#pragma once

#include <vector>

#include "absl/types/span.h"
#include "plait/internal/search_child.pb.h"
#include "plait/v1/host_nodes.pb.h"
#include "server/search_child/planned_parts.h"

namespace plait {

// Which nodes of the plans reference code computes, because the job's device has no kernel for
// them (KernelCatalog::IsFallback), by operator and sorted by its name; each operator names its
// first nodes in the plans' order. None for a device whose kernels are not known. Pure and
// thread-safe.
std::vector<v1::FallbackOperator> FallbackOperators(const internal::Start& start,
                                                    absl::Span<const PlannedPart> parts);

}  // namespace plait
