#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "bench/simulated_gpu/model_kernels.h"
#include "gpu_worker/simulated_gpu/program.h"

namespace plait {

// What the loads, or the stores, of a kernel's text move of one operand.
struct OperandTraffic {
  std::string operand;  // as the text calls it: x0, packed_weights, y0 ...
  bool is_store = false;
  int64_t element_bytes = 0;
  int64_t sectors = 0;  // of 32 bytes
  int64_t bytes_asked = 0;

  // Bytes moved for each that was asked for.
  double ratio() const {
    return 32 * static_cast<double>(sectors) / static_cast<double>(bytes_asked);
  }
};

// By operand, of the first blocks of a kernel's first launch, as many as `blocks_max` at most: the
// text is that which a plan runs, and other blocks do the same at other places. Operands are zeros,
// and begin as far behind a multiple of 256 bytes as the kernel's alignment allows. Shared memory
// is left out.
// Errors: those of simulated_gpu::Launch.
absl::StatusOr<std::vector<OperandTraffic>> MeasureTraffic(const simulated_gpu::Program& program,
                                                           const ModelKernel& kernel,
                                                           unsigned blocks_max);

// Several kernels of one precision, compiled as one program for "compute_90", by kernel.
// Errors: Internal with the words of NVRTC; those of ParsePtx and DecodeKernel.
absl::StatusOr<std::vector<simulated_gpu::Program>> ProgramsOf(
    absl::Span<const ModelKernel* const> kernels);

}  // namespace plait
