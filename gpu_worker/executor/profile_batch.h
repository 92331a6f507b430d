#pragma once

#include <stop_token>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gpu_worker/executor/profile_kernel.h"

namespace plait {

// Kernels that are measured between the same two readings of the device's yardsticks. Reading takes
// some milliseconds, which 16 kernels pay together.
inline constexpr int kKernelsOfBatch = 16;
// How often a batch is measured, at most, when the device does not stay as it was.
inline constexpr int kBatchAttemptsMax = 3;
// After this time a batch is not repeated: what takes longer will not find a device that stays.
inline constexpr absl::Duration kBatchRepeatTimeMax = absl::Seconds(1);

// Measures kernels (ProfileKernel), one profile for each in order, in batches; each kernel in two
// visits that share the samples and the time of `options`, of which the faster one counts: one that
// fell into a moment in which the device was not all ours is slower. Each profile has the
// yardsticks of its batch. A batch in which a yardstick moved by more than kYardstickDriftMax is
// measured again. Of several attempts that all moved so far, the one that moved least is kept; its
// drift says so.
// Errors: Cancelled when a stop is requested; it is looked for between kernels.
absl::StatusOr<std::vector<KernelProfile>> ProfileKernels(Executor& executor,
                                                          absl::Span<const LoneKernel> kernels,
                                                          const ProfileOptions& options,
                                                          const std::stop_token& stop = {});

}  // namespace plait
