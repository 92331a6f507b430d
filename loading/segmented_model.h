#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "gpu_worker/executor/executor.h"
#include "loading/host_runner.h"
#include "optimizer/onnx/model.h"

namespace plait {

// A part of a model that runs at once: an island on the device, or nodes that a host runner has.
struct LoadedSegment {
  // One of them.
  std::unique_ptr<Executable> island;
  std::unique_ptr<HostSegment> host;
  // Of the whole model's graph, in the segment's order.
  std::vector<TensorId> inputs;
  std::vector<TensorId> outputs;
};

// A model around nodes that plait does not understand: its segments, one after the other. Values
// stay where they are made; what an island reads is copied to where it reads it, unless it is
// there. Not thread-safe.
class SegmentedModel {
 public:
  // `segments` are in order, and together they make all that `graph` has. Outputs that only a run
  // tells the shape of are described as `declared`, the model's own outputs.
  // Errors: Unimplemented for an input or output that is no tensor of numbers; ResourceExhausted
  // where there is no memory for one; those of EvaluateConstant and Executable::Bound.
  static absl::StatusOr<std::unique_ptr<SegmentedModel>> Make(const Graph& graph,
                                                              std::vector<LoadedSegment> segments,
                                                              absl::Span<const ModelValue> declared,
                                                              const WeightSource& weights);

  // Where inputs are read and outputs lie, as of an executable. An output whose shape only a run
  // tells has no data and Dimension::kUnknownSize in its shape, which is empty where not even the
  // rank is known.
  const BoundTensors& bound() const { return bound_; }
  bool IsOpen(size_t output) const { return bound_.outputs[output].data == nullptr; }

  // Runs once, and copies as Executable::RunBound does. Errors: those of kernels and of the host
  // runner; FailedPrecondition, naming the value, where that gives other types than the model says.
  absl::Status Run(absl::Span<const BoundCopy> before, absl::Span<const BoundCopy> after);

  // An output of the last run, good until the next one. REQUIRES: one succeeded.
  const HostTensor& Result(size_t output) const { return values_[graph_.outputs()[output]]; }

 private:
  explicit SegmentedModel(const Graph& graph) : graph_(graph), values_(graph.tensor_count()) {}

  // Those of a device whose memory the host does not see get memory of the host's.
  absl::Status PlaceIslands();
  std::vector<TensorType> TypesOf(absl::Span<const TensorId> tensors) const;
  absl::Status PlaceInputs();
  absl::Status PlaceOutputs(absl::Span<const ModelValue> declared, const WeightSource& weights);
  // Memory of the model's own for a value.
  // Errors: ResourceExhausted, naming the value.
  absl::StatusOr<std::byte*> Allocate(TensorId id);
  absl::Status RunIsland(size_t index, absl::Span<const BoundCopy> before,
                         absl::Span<const BoundCopy> after);
  absl::Status RunHost(LoadedSegment& segment);
  DataType HostTypeOf(TensorId id) const;

  const Graph graph_;
  std::vector<LoadedSegment> segments_;
  std::vector<BoundTensors> places_;  // of the islands, by segment
  std::vector<HostTensor> values_;    // by tensor; those that host segments make change with a run
  // Where a value of a host segment has to lie that is an output of the model of a known type.
  std::vector<BoundTensor> kept_;
  std::vector<std::shared_ptr<void>> memory_;
  BoundTensors bound_;
};

}  // namespace plait
