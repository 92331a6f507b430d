#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "optimizer/ir/graph.h"
#include "optimizer/onnx/model.h"

namespace plait {

// The names of a graph's tensors in an exported model. Inputs and outputs are named as the original
// model names them, what subgraphs of opaque nodes read as they read it; where one tensor needs two
// names, the second is an Identity of the first.
class ExportNames {
 public:
  // Errors: InvalidArgument when the graph has other numbers of inputs or outputs than the model;
  // those of ReadOpaqueNode.
  static absl::StatusOr<ExportNames> Assign(const Model& model, const Graph& graph);
  // The same for a piece of a model's graph, whose inputs and outputs are named as they are in it.
  static absl::StatusOr<ExportNames> AssignOwn(const Graph& piece);

  // The tensor's own name, under which its producer writes it. Empty for kNoTensor.
  const std::string& of(TensorId id) const;

  // Further names of the tensor.
  const std::vector<std::string>& identities(TensorId id) const { return identities_[id]; }

  // A name that nothing has, beginning with `stem`.
  std::string Fresh(const std::string& stem);

 private:
  explicit ExportNames(int tensor_count) : names_(tensor_count), identities_(tensor_count) {}

  // What is left over when inputs and outputs have their names. Errors: those of ReadOpaqueNode.
  absl::Status AssignOthers(const Graph& graph);
  // The tensor has to be readable as `name`: its own if it has none yet, else an Identity.
  void Require(TensorId id, const std::string& name);

  std::vector<std::string> names_;
  std::vector<std::vector<std::string>> identities_;
  absl::flat_hash_set<std::string> used_;
};

}  // namespace plait
