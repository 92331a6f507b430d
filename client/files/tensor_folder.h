#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "optimizer/ir/graph.h"
#include "optimizer/onnx/bind.h"
#include "optimizer/onnx/model.h"

namespace plait {

// The inputs of a graph, in its order, from a folder: input i is "<name>.npy" or "input_<i>.pb" (a
// serialized TensorProto, as in ONNX's test data). '/' and ':' in names are '_' in file names.
// Errors: NotFound naming both files; InvalidArgument for one of another type than the graph's.
// The folder may come from a stranger: files are read up to kModelBytesMax, and a name cannot lead
// out of it. An NPY file is preferred where there are both.
absl::StatusOr<std::vector<Tensor>> ReadInputs(const std::string& folder, const Graph& graph);

// The shapes given, and of inputs that the model leaves open and nobody gives, those of the tensors
// in the folder, as far as they can be read and the model allows them. None for the folder "".
Bindings ShapesOfInputs(const std::string& folder, const Model& model, Bindings given);

// Writes output i as "output_<i>.pb" and "<names[i]>.npy"; the latter not for bfloat16, which numpy
// does not have. Errors: those of the file system.
// Each file is replaced in one step; the folder is made when it is missing.
absl::Status WriteOutputs(const std::string& folder, absl::Span<const std::string> names,
                          absl::Span<const Tensor> outputs);

}  // namespace plait
