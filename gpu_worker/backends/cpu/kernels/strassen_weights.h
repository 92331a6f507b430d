#pragma once

#include "gpu_worker/backends/cpu/kernels/fma_product.h"

namespace plait {

// A constant matrix as Strassen's algorithm multiplies by it (see loops/loops.h): sums of its
// quarters, each column divided by a power of two, so that no column is small beside another that
// is added to it. Free of state once it is loaded.
class StrassenWeights {
 public:
  // Packs the constant matrix `right`, by as many threads as the kernel is wide. `bias` has a float
  // per column, or is nullptr. `blocks_together` are those of a half: see FmaProduct::Constants.
  // Errors: InvalidArgument (LoadContext::Refuse) for weights that are not finite;
  // ResourceExhausted.
  // REQUIRES: IsStrassenProduct.
  static absl::StatusOr<StrassenWeights> Load(LoadContext* context, const ConstantProduct& shape,
                                              TensorId right, const float* bias,
                                              int64_t blocks_together);

  // Of half the depth and columns, with kStrassenProducts matrices.
  FmaProduct& product() { return product_; }
  const FmaProduct& product() const { return product_; }

  int64_t half_columns() const { return half_columns_; }
  // By columns of the result: what the columns were divided by, and what is added to them.
  const float* factors() const { return factors_; }
  const float* bias() const { return bias_; }

  // What a number of the left side adds to `count` columns of each half of a row of the result,
  // from `column` of the half on: y[half][i] += x * right[k, i].
  void AddNumber(float x, int64_t k, int64_t column, int64_t count, float* const (&y)[2]) const;

 private:
  struct Divided;

  // Whether another executable has packed them already.
  absl::StatusOr<bool> Allocate(LoadContext* context, const ConstantProduct& shape, TensorId right);
  absl::Status LoadBias(LoadContext* context, int64_t columns, const float* bias);
  void FindFactors(int threads, const ConstantProduct& shape, const float* right);
  void KeepQuarters(int threads, const Divided& divided);
  float At(int64_t matrix, int64_t k, int64_t column) const {
    const int64_t block_columns = product_.block_columns();
    return product_.RightAt(matrix,
                            column / block_columns)[k * block_columns + column % block_columns];
  }

  int64_t half_depth_ = 0;
  int64_t half_columns_ = 0;
  float* factors_ = nullptr;
  float* inverses_ = nullptr;
  float* bias_ = nullptr;
  // The quarters that are in no product alone: [half_depth_][half_columns_].
  float* kept01_ = nullptr;
  float* kept10_ = nullptr;
  FmaProduct product_;
};

}  // namespace plait
