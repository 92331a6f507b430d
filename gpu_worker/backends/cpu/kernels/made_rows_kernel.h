#pragma once

#include "gpu_worker/backends/cpu/kernels/chunk_runner.h"
#include "gpu_worker/backends/cpu/kernels/fma_product.h"
#include "gpu_worker/backends/cpu/kernels/row_epilogue.h"
#include "gpu_worker/backends/cpu/run/kernel.h"

namespace plait {

// Makes rows of floats of what a kernel reads. Free of state once it is loaded.
class RowMaker {
 public:
  virtual ~RowMaker() = default;

  // Makes the rows from `begin` to `end`, the first at `to`, each `apart_floats` behind the one
  // before. A row does not depend on where a piece begins.
  virtual void Make(int64_t begin, int64_t end, float* to, int64_t apart_floats) const = 0;
};

// A product of rows that are made for it by a constant matrix, and what follows it. Rows are made
// in chunks, which are multiplied while they are in the caches.
class MadeRowsKernel : public CpuKernel {
 public:
  struct Parts {
    std::unique_ptr<RowMaker> maker;
    ConstantProduct shape;  // of the product
    FmaProduct product;
    RowEpilogue epilogue;
    float* result = nullptr;
    int64_t result_apart_floats = 0;  // from one row to the next
  };

  // Errors: ResourceExhausted; those of FmaProduct::AddRows.
  static absl::StatusOr<std::unique_ptr<CpuKernel>> Create(LoadContext* context, Parts parts);

  absl::Status Run() override { return is_by_rows_ ? RunByRows() : RunByColumns(); }

 private:
  MadeRowsKernel(int width, Parts parts)
      : width_(width), parts_(std::move(parts)), runner_(width) {}

  absl::Status ChooseChunks(LoadContext* context);

  absl::Status RunByRows();
  absl::Status RunByColumns();
  int64_t ChunkEnd(int64_t chunk) const {
    return std::min(parts_.shape.rows, (chunk + 1) * chunk_rows_);
  }
  void MakeRows(int64_t chunk, float* rows) const;
  void FinishRows(int64_t chunk) const;

  const int width_;
  Parts parts_;
  ChunkRunner runner_;
  bool is_by_rows_ = true;
  int64_t chunk_rows_ = 0;
  int64_t apart_floats_ = 0;  // from one made row to the next
  float* rows_ = nullptr;     // scratch, by rows of each thread, else of all
};

}  // namespace plait
