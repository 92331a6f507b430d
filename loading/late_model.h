#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "gpu_worker/executor/executor.h"
#include "loading/host_runner.h"
#include "optimizer/onnx/bind.h"

namespace plait {

// Whether a graph has tensors without elements, which kernels do not take.
bool HasEmptyTensors(const Graph& graph);

// Whether nobody can run a node, or only by the values of inputs: one of an operator that plait
// knows, of whose inputs everything is known but that.
bool IsStuck(const Graph& graph, const Node& node);

// What parts of a model are loaded with, when it is loaded and afterwards.
struct PartsLoading {
  Executor& executor;
  HostRunner* runner = nullptr;  // nullptr: the program brings none
  // Is held while a run loads something on the executor; nullptr: nobody else does.
  absl::Mutex* loading = nullptr;
  // By a late model: what is stuck there would be so again if it were cut out once more.
  bool is_late = false;
};

// A model whose sizes only a run tells: what lies behind a node that gives as much as it finds, or
// the subgraph of a Loop. A run binds it to the types of its inputs, and to the values of small
// inputs where sizes follow from those; it keeps what it has loaded for the last 16. Small
// graphs, and those with empty tensors, which no kernel takes, run by reference evaluation. The
// same inputs always run by the same code. Not thread-safe.
class LateModel {
 public:
  // The model for inputs of these element types, kUndefined for those that it lacks.
  using Source = std::function<absl::StatusOr<Model>(absl::Span<const DataType> types)>;

  LateModel(Source source, const PartsLoading& loading);
  LateModel(LateModel&&) noexcept;
  ~LateModel();

  // Inputs in the source's order, with no type where the model lacks one.
  // Errors: those of the source and of Bind; Unimplemented naming a node that neither plait nor the
  // runner can run; those of loading and of kernels.
  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> inputs);

 private:
  struct Loaded;

  // The model for these element types: another one only if they change.
  absl::Status Import(absl::Span<const Tensor> inputs);
  absl::StatusOr<Loaded*> Find(absl::Span<const Tensor> inputs);
  absl::StatusOr<std::unique_ptr<Loaded>> Load(absl::Span<const Tensor> inputs);
  absl::Status LoadGraph(Bound bound, Loaded* loaded);

  Source source_;
  PartsLoading loading_;
  std::vector<DataType> types_;
  std::unique_ptr<Model> model_;
  std::list<std::unique_ptr<Loaded>> loaded_;  // the last ones that were asked for, newest first
};

}  // namespace plait
