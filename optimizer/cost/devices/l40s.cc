#include "optimizer/cost/described_device.h"

namespace plait {

// NVIDIA L40S, of compute capability 8.9. Where no source is named it is an estimate.
const DescribedDevice kL40sDevice = {
    .name = "l40s",
    .title = "NVIDIA L40S",
    // L40S data sheet: 142 SMs of 128 lanes, at 2.52 GHz 91.6 TFLOPS in fp32; at the clock that its
    // 350 W allow under load some 70.
    .multiprocessors = 142,
    .multiprocessor = {.architecture = "sm_89",
                       .shared_bytes = 100 << 10,
                       .threads = 1536,
                       .blocks = 24},
    .flops_per_us = 70e6,
    // Data sheet: 183 TFLOPS in TF32 without sparsity, of which 140 are left likewise.
    .tf32_flops_per_us = 140e6,
    // Data sheet: 362 TFLOPS in fp16 and bf16, of which 280 are left likewise.
    .half_flops_per_us = 280e6,
    // Data sheet: 864 GB/s of GDDR6; copies reach nine tenths of it.
    .bytes_per_us = 0.78e6,
    // Published measurements of the second cache of AD102: about 5 TB/s.
    .l2_bytes_per_us = 5e6,
    // 64 bytes a cycle between the second cache and a multiprocessor.
    .multiprocessor_bytes_per_us = 0.15e6,
    // Ada architecture white paper: 96 MB.
    .l2_bytes = int64_t{96} << 20,
    .memory_bytes = int64_t{48} * 1000 * 1000 * 1000,
    // As of H200.
    .kernel_us = 1.2,
    .product_us = 1.6,
    .cross_stream_us = 1.0,
    .streams_max = 16,
};

}  // namespace plait
