#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "bench/gpu/session.h"
#include "gpu_worker/backends/cuda/driver/clock_watch.h"
#include "gpu_worker/backends/cuda/driver/runtime.h"
#include "gpu_worker/backends/cuda/problem/candidate.h"

namespace plait::cuda {

// A device for --fake: the recording runtime, and three candidates for every problem that compute
// the reference: "fake/reference", "fake/slow", and "fake/wrong", which leaves an element unwritten
// and has to be refused. Its times are made up.
struct FakeDevice {
  std::unique_ptr<Runtime> runtime;
  ProbeKernels probes;
  std::function<std::vector<std::unique_ptr<Candidate>>(const Problem&, Precision, MemoryLayout)>
      enumerate;
  ClockReader read_clock;  // 1980 MHz, limited by power
};

FakeDevice MakeFakeDevice();

}  // namespace plait::cuda
