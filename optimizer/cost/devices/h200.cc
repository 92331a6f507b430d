#include "optimizer/cost/described_device.h"

namespace plait {

// NVIDIA H200 SXM, of compute capability 9.0. Where no source is named it is an estimate.
const DescribedDevice kH200Device = {
    .name = "h200",
    .title = "NVIDIA H200",
    // H200 data sheet and Hopper architecture white paper: 132 SMs of 128 lanes, at 1.98 GHz 66.9
    // TFLOPS in fp32, of which 60 are left at the clock under load.
    .multiprocessors = 132,
    .flops_per_us = 60e6,
    // Data sheet: 4.8 TB/s of HBM3e; copies reach nine tenths of it.
    .bytes_per_us = 4.3e6,
    // Published measurements of H100's second cache: 5.5 TB/s.
    .l2_bytes_per_us = 5.5e6,
    // 64 bytes a cycle between the second cache and a multiprocessor.
    .multiprocessor_bytes_per_us = 0.12e6,
    // White paper: 50 MB.
    .l2_bytes = int64_t{50} << 20,
    // Data sheet: 141 GB.
    .memory_bytes = int64_t{141} * 1000 * 1000 * 1000,
    // Published: 1.3 us between dependent kernels of a CUDA graph on H100 ("No Bubbles", Hazy
    // Research); the first loads and the last stores of a kernel take as long again.
    .kernel_us = 2.5,
    .cross_stream_us = 0.75,
    .streams_max = 16,
};

}  // namespace plait
