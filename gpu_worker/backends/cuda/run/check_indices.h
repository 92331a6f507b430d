#pragma once

#include "gpu_worker/backends/cuda/driver/runtime.h"
#include "gpu_worker/backends/cuda/driver/staging.h"
#include "gpu_worker/backends/cuda/problem/candidate.h"
#include "gpu_worker/backends/cuda/problem/problem.h"

namespace plait::cuda {

// Whether a gather that was launched on `stream` had indices in range: waits for the stream, and
// reads its error word back. Ok() for every other problem, and without a word, at once.
// The word is 0 again for the next launch, behind what `stream` holds.
// Errors: kInvalid, which names the index; kDevice.
Status CheckIndices(Runtime* runtime, Staging* staging, const Problem& problem,
                    const Operands& operands, Stream stream);

}  // namespace plait::cuda
