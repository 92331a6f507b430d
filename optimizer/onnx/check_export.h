#pragma once

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optimizer/ir/graph.h"
#include "optimizer/onnx/node_form.h"

namespace plait {

// What the exporter makes of a node alone in a file of an opset. Tests plant faults in it.
using WrittenFormOf = absl::FunctionRef<absl::StatusOr<Graph>(const Graph& alone, int opset)>;

// Proves that an exported file is the graph that was verified: imports the bytes again and compares
// fingerprints, which cover every operator, attribute, type, edge and byte of a constant. What
// import would not have made a node of, Identity and what only constants decide, is followed or
// computed in both.
// Where the file's opset says a node in another way, such as Gelu by Erf, the node and the form
// that it is written in are evaluated (prove_form.h), and the form is compared in its place. So the
// exporter is trusted in nothing; import and the reference evaluation are.
// Takes less time than an import, and less than 0.1 seconds for each different node that is proven.
// Pure and thread-safe.
// Errors: Internal when the file cannot be imported, is another graph, or says a node as something
// else; those of MaterializeConstants.
absl::Status CheckExport(absl::string_view bytes, const Graph& graph, const WeightSource& weights,
                         WrittenFormOf form_of = WrittenForm);

}  // namespace plait
