#pragma once

#include <memory>
#include <vector>

#include "gpu_worker/executor/executor.h"
#include "loading/segmented_model.h"

namespace plait {

// A model that runs in parts, as an executable: for whoever runs one or the other. Its outputs have
// the shapes that a run gives them. Not thread-safe.
class SegmentedExecutable : public Executable {
 public:
  // `reference_nodes`: those of its islands.
  SegmentedExecutable(std::unique_ptr<SegmentedModel> model, int reference_nodes)
      : model_(std::move(model)), reference_nodes_(reference_nodes) {}

  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> inputs) override;
  absl::StatusOr<std::vector<double>> Time(int repeats) override;
  absl::Status SetInputs(absl::Span<const Tensor> inputs) override;
  void EvictCaches() override {}
  int fallback_nodes() const override { return reference_nodes_; }

 private:
  const std::unique_ptr<SegmentedModel> model_;
  const int reference_nodes_;
};

}  // namespace plait
