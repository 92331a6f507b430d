#pragma once

#include <functional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "optimizer/kernels/kernel_catalog.h"
#include "optimizer/rules/rule.h"

namespace plait {

// Calls `visit` with each graph that one rewrite of the graph gives, and the nodes that it then has
// and the graph had not, ascending. Of the rules those that a search decides about; of rewrites
// that take and give the same in front of the same readers, as in the cells of a network, only one.
// Errors: those of Apply, which are a rule's fault.
absl::Status VisitRewritten(const Graph& graph, absl::Span<const Rule* const> rules,
                            absl::FunctionRef<void(const Graph&, absl::Span<const NodeId>)> visit);

// Calls `visit` with each kernel of the catalog that has one of the graph's changed nodes, which it
// may begin in front of. REQUIRES: ascending.
void VisitChangedKernels(const Graph& graph, absl::Span<const NodeId> changed,
                         const KernelCatalog& catalog,
                         absl::FunctionRef<void(const Kernel&)> visit);

}  // namespace plait
