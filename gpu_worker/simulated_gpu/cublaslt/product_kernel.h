#pragma once

#include <string>

#include "gpu_worker/simulated_gpu/cublaslt/algorithms.h"
#include "gpu_worker/simulated_gpu/cublaslt/product.h"
#include "gpu_worker/simulated_gpu/library_memory.h"
#include "gpu_worker/simulated_gpu/stand_in.h"
#include "gpu_worker/simulated_gpu/tensor_memory.h"

namespace plait::simulated_gpu {

// The kernel of one algorithm for one product. Its name tells products and algorithms apart, and
// its parameters are below; alpha and beta are a float's bits.
class ProductKernel : public StandIn {
 public:
  enum Parameter { kAlpha, kBeta, kA, kB, kC, kD, kBias, kWorkspace, kParameters };

  ProductKernel(const Product& product, const ChosenAlgorithm& chosen);

  const std::string& name() const override { return name_; }
  LaunchShape shape() const override;
  int parameters() const override { return kParameters; }
  Touches TouchesOf(absl::Span<const uint64_t> arguments) const override;
  absl::Status Run(absl::Span<const uint64_t> arguments, DeviceMemory* memory) const override;

 private:
  TouchedParts PartsOf(absl::Span<const uint64_t> arguments) const;
  TensorPlace Place(const char* name, const MatrixLayout& matrix, uint64_t address) const;
  TensorPlace BiasPlace(uint64_t address) const;
  double Activate(double x) const;

  const Product product_;
  const ChosenAlgorithm chosen_;
  const uint64_t workspace_bytes_;
  const std::string name_;
};

}  // namespace plait::simulated_gpu
