#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "gpu_worker/backends/cpu/run/kernel.h"

namespace plait {

// Elements in memory at a distance along each axis; a distance of 0 repeats, a negative one walks
// backwards.
// `data` is where the element at index 0 along every axis lies, which with negative distances is
// not the lowest address. Distances are in elements, by axis of the shape that is copied.
struct StridedElements {
  std::byte* data;
  Shape strides;
};

// Copies `shape` elements of a size from one place to another. Axes that lie alike on both sides
// are merged, and runs that are contiguous on both sides are copied whole. What concat, slice, pad,
// expand, transpose and reorder come down to: they differ in strides and places only. Immutable;
// the places must outlive it and not overlap.
//
// Both sides' strides have the rank of `shape`. Source distances may be 0 or negative; target
// distances are positive, as every element is written once.
// Thread rule: Run from one thread at a time, because it starts the team.
class StridedCopy {
 public:
  // element_bytes: 1, 2, 4 or 8.
  // All decisions are taken here, so that a run only walks.
  StridedCopy(int64_t element_bytes, const Shape& shape, const StridedElements& source,
              const StridedElements& target);

  // Divides the runs between `threads` threads, where there is enough to copy.
  void Run(int threads) const;

 private:
  struct Axis {
    int64_t size;
    int64_t source_stride;  // in elements
    int64_t target_stride;
  };

  // Runs [begin, end), counted in the order of the target.
  void CopyRuns(int64_t begin, int64_t end) const;

  int64_t element_bytes_;
  const std::byte* source_;
  std::byte* target_;
  std::vector<Axis> outer_;  // outermost first
  Axis inner_ = {1, 1, 1};   // a run: what lies closest in the target
  int64_t runs_ = 1;         // the product of the outer axes
};

// A kernel that is some copies, one after another, each divided between all of its threads.
// Concat and Split have one copy per part, all others one. The copies are one after another because
// their parts are rarely equal, and dividing each is simpler than dividing their sum.
class CopyKernel : public CpuKernel {
 public:
  explicit CopyKernel(int threads) : threads_(threads) {}

  // Called while the kernel loads.
  void Add(StridedCopy copy) { copies_.push_back(std::move(copy)); }
  absl::Status Run() override;

 private:
  int threads_;
  std::vector<StridedCopy> copies_;
};

}  // namespace plait
