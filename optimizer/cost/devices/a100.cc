#include "optimizer/cost/described_device.h"

namespace plait {

// NVIDIA A100 SXM with 80 GB, of compute capability 8.0. Where no source is named it is an
// estimate.
const DescribedDevice kA100Device = {
    .name = "a100",
    .title = "NVIDIA A100 80GB",
    // A100 data sheet: 108 SMs of 64 lanes, at 1.41 GHz 19.5 TFLOPS in fp32.
    .multiprocessors = 108,
    .multiprocessor = {.architecture = "sm_80",
                       .shared_bytes = 164 << 10,
                       .threads = 2048,
                       .blocks = 32},
    .flops_per_us = 19.5e6,
    // Data sheet: 156 TFLOPS in TF32 without sparsity.
    .tf32_flops_per_us = 156e6,
    // Data sheet: 312 TFLOPS in fp16 and bf16.
    .half_flops_per_us = 312e6,
    // Data sheet: 2.04 TB/s of HBM2e; copies reach nine tenths of it.
    .bytes_per_us = 1.8e6,
    // Ampere architecture white paper: 5120 bytes a cycle, of which some two thirds are reached.
    .l2_bytes_per_us = 4.8e6,
    // 64 bytes a cycle between the second cache and a multiprocessor.
    .multiprocessor_bytes_per_us = 0.09e6,
    // White paper: 40 MB.
    .l2_bytes = int64_t{40} << 20,
    .memory_bytes = int64_t{80} * 1000 * 1000 * 1000,
    // As of H200, at a clock of 1.41 instead of 1.98 GHz.
    .kernel_us = 1.7,
    .product_us = 2.2,
    .cross_stream_us = 1.4,
    .streams_max = 16,
};

}  // namespace plait
