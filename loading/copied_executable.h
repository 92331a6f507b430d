#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpu_worker/executor/executor.h"

namespace plait {

// On the calling thread.
void MakeCopies(absl::Span<const BoundCopy> copies);

// An executable of a device whose memory the host does not see, with memory of the host's own for
// its inputs and outputs: each run copies them there and back. Not thread-safe.
class CopiedExecutable : public Executable {
 public:
  // The types of its inputs and outputs, in graph order.
  CopiedExecutable(std::unique_ptr<Executable> executable, std::vector<TensorType> inputs,
                   std::vector<TensorType> outputs)
      : executable_(std::move(executable)),
        input_types_(std::move(inputs)),
        output_types_(std::move(outputs)) {}

  absl::StatusOr<std::vector<Tensor>> Run(absl::Span<const Tensor> inputs) override {
    return executable_->Run(inputs);
  }
  // Errors: none.
  absl::StatusOr<BoundTensors> Bound() override;
  absl::Status RunBound(absl::Span<const BoundCopy> before,
                        absl::Span<const BoundCopy> after) override;
  absl::StatusOr<std::vector<double>> Time(int repeats) override {
    return executable_->Time(repeats);
  }
  absl::Status SetInputs(absl::Span<const Tensor> inputs) override {
    return executable_->SetInputs(inputs);
  }
  void EvictCaches() override { executable_->EvictCaches(); }
  int fallback_nodes() const override { return executable_->fallback_nodes(); }

 private:
  const std::unique_ptr<Executable> executable_;
  const std::vector<TensorType> input_types_;
  const std::vector<TensorType> output_types_;
  // The bytes of each, where Bound says.
  std::vector<std::string> inputs_;
  std::vector<std::string> outputs_;
};

}  // namespace plait
