#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "optimizer/ir/graph.h"
#include "optimizer/onnx/embedded_plan.h"
#include "optimizer/onnx/model.h"

namespace plait {

// How a graph is written.
struct ExportOptions {
  // The opset to write; 0: the original model's. Never lower than that.
  int opset = 0;
  // Goes into metadata_props; entries of that kind in the original are dropped in any case.
  std::vector<EmbeddedPlan> plans;
};

// Whether a model can be written with this opset (0: its own): `graph` came from binding it. Says
// before a search what ExportOnnx would say after it.
// Errors: InvalidArgument when the opset is lower than the model's, newer than kOpsetMax, or raised
// past an opaque node.
absl::Status CheckExportOpset(const Model& original, const Graph& graph, int opset);

// Writes a graph that came from binding `original`, optimized or not, as a standard ONNX model: the
// original's names, documentation and metadata, its opset and IR version (raised only where the
// opset needs it), operators that the opset lacks written as older ones, constants computed, unused
// ones left out. Opaque nodes are written back as they were but for the names of what they read.
// Inputs and outputs get the static shapes of the graph. Equal arguments give equal bytes.
//
// Errors: InvalidArgument when the graph has other inputs or outputs than the model, the opset is
// lower than the original's or cannot express a node, or is raised past an opaque node; NotFound
// for a weight that `weights` lacks; ResourceExhausted when the file would exceed
// kModelBytesMax.
absl::StatusOr<std::string> ExportOnnx(const Model& original, const Graph& graph,
                                       const WeightSource& weights, const ExportOptions& options);

// Writes a piece of a graph that came from binding `original` as a model of its own, of the same
// opsets: inputs and outputs are the piece's, under the names that they have in it, and the
// initializers are the constants that it reads. What is no known type of an input is written as a
// tensor of `input_types` at its index, of any shape; of an output, as the original declares it, or
// by its name alone. For nodes that another runtime runs.
// REQUIRES: as many `input_types` as inputs; those of known inputs are not read.
// Errors: as ExportOnnx.
absl::StatusOr<std::string> ExportPiece(const Model& original, const Graph& piece,
                                        absl::Span<const DataType> input_types);

}  // namespace plait
