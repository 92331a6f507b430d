#pragma once

#include "absl/types/span.h"
#include "optimizer/onnx/bind.h"
#include "plait/v1/report.pb.h"

namespace plait {

// Tells which nodes of a model run in another runtime, and why: the opaque ones, as they are
// grouped when it is loaded (optimizer/search/segments.h). `graph` is the model's own, and
// `opaque_nodes` are binding's. Pure and thread-safe.
void AddHostSegments(const Graph& graph, absl::Span<const OpaqueNode> opaque_nodes,
                     v1::ModelReport* report);

}  // namespace plait
