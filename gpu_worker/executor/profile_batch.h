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
// How often a kernel is visited, each time for half of the samples, and how often at most where
// the device's multiply-adds did not stay as they were in any of the visits, unless one takes
// what the best one before took.
inline constexpr int kVisits = 2;
inline constexpr int kVisitsMax = 4;

// Measures kernels (ProfileKernel), one profile for each in order, in batches; each kernel in some
// visits, a batch apart, of half the samples and the time of `options`. Multiply-adds are read
// right before and behind each visit, by as many threads as the kernel takes. Of the visits in
// which they moved by no more than kYardstickDriftMax, or of all where there is none, the one
// counts that is the fastest beside them (ScaledToPresent): one that fell into a moment in which
// the device was not all ours is slower. A profile has the multiply-adds of its visit, and their
// drift, and the reads of its batch. No visit begins while threads are far from each other
// (AwaitNearThreads); behind one at whose end they are the drift is 1.
// Errors: Cancelled when a stop is requested; it is looked for between kernels.
absl::StatusOr<std::vector<KernelProfile>> ProfileKernels(Executor& executor,
                                                          absl::Span<const LoneKernel> kernels,
                                                          const ProfileOptions& options,
                                                          const std::stop_token& stop = {});

}  // namespace plait
