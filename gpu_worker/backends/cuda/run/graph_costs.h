#pragma once

#include <functional>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "gpu_worker/backends/cuda/driver/kernel_cache.h"
#include "gpu_worker/backends/cuda/driver/runtime.h"

namespace plait::cuda {

// What graphs cost on a device, beside the kernels, and what kernels side by side have in common.
// There is no launch gap among it: what a kernel takes to begin behind another one is part of every
// kernel's time (Profile).
struct GraphCosts {
  // What a graph of one kernel takes between two events, beyond what a kernel takes in a graph of
  // many.
  double start_us = 0;
  // Of a fork into two chains and their join, each: what a path through them takes more than one
  // chain does.
  double cross_stream_us = 0;
  // So many kernels of one block make progress side by side, at least; a power of two.
  int streams = 1;
  // What copies in the device's memory read and write. 0: there was no memory to measure it.
  double copied_bytes_per_us = 0;

  friend bool operator==(const GraphCosts&, const GraphCosts&) = default;
};

// By kernels that do nothing, or little, within some milliseconds. `evict` comes in front of each
// graph of one kernel. Errors: kUnavailable without NVRTC; kDevice.
Result<GraphCosts> MeasureGraphCosts(Runtime* runtime, const DeviceFacts& facts, Stream stream,
                                     const std::function<Status(Stream)>& evict);

// What a process before has kept of a device of this fingerprint, or what is measured now and kept
// for later ones, so that equal searches are told the same. `cache` may be null.
// Errors: as MeasureGraphCosts.
Result<GraphCosts> FindGraphCosts(KernelCache* cache, absl::string_view fingerprint,
                                  const std::function<Result<GraphCosts>()>& measure);

// As one line, and back. nullopt for any other text, and for numbers that no device has.
std::string PrintGraphCosts(const GraphCosts& costs);
std::optional<GraphCosts> ParseGraphCosts(absl::string_view text);

}  // namespace plait::cuda
