#pragma once

#include "optimizer/ops/shared/op_spec.h"

namespace plait {

// What a device can do at best, for estimates before anything is measured and for bounds that need
// no measuring: a rewrite whose arithmetic alone takes too long is not worth a graph. A value.
// A step that computes 4 million flops on 1 MB, where 100,000 flops and 10,000 bytes per
// microsecond are the best: 40 us of arithmetic beside 100 us of memory make 100 us.
struct Roofline {
  double flops_per_us = 0;  // 0: unknown
  double bytes_per_us = 0;  // 0: unknown

  // The roofline model's time (Williams, Waterman, Patterson, CACM 2009): the slower of computing
  // `work` and moving its bytes, each alone at full rate. 0 where nothing is known, so that the
  // result never exceeds what the device could reach.
  // Pure, as the other.
  double LatencyUs(const Work& work) const;

  // The same when every byte stays on the chip: what a node costs at least, however it is fused, in
  // microseconds.
  double ComputeUs(const Work& work) const;
};

}  // namespace plait
