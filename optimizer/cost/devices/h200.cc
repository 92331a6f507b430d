#include "optimizer/cost/described_device.h"

namespace plait {

// NVIDIA H200 SXM, of compute capability 9.0. Where no source is named it is an estimate. What is
// called measured was, on one, in a graph of strict fp32 kernels: the constants and candidates of
// bench/results/gpu/nvidia-h200/2026-11-26. Shares and fixed times are those with which 334
// convolutions and 166 elementwise kernels of five models are predicted best
// (build/predicted_candidates has the errors).
const DescribedDevice kH200Device = {
    .name = "h200",
    .title = "NVIDIA H200",
    // H200 data sheet and Hopper architecture white paper: 132 SMs of 128 lanes, at 1.98 GHz 66.9
    // TFLOPS in fp32, of which 60 are left at the clock under load.
    .multiprocessors = 132,
    .multiprocessor = {.architecture = "sm_90a",
                       .shared_bytes = 228 << 10,
                       .threads = 2048,
                       .blocks = 32},
    .flops_per_us = 60e6,
    // Data sheet: 494 TFLOPS in TF32 without sparsity, of which 400 are left likewise.
    .tf32_flops_per_us = 400e6,
    // Measured: products of 4096 and 8192 rows, columns and depth reach 670 to 770 TFLOPS in fp16
    // and 700 to 800 in bf16. Data sheet: 989 without sparsity.
    .half_flops_per_us = 700e6,
    // Data sheet: 4.8 TB/s of HBM3e; reading reaches 4.4 as measured.
    .bytes_per_us = 4.4e6,
    // Measured: 8.2 to 8.5 TB/s where 16 to 50 MB are read again and again.
    .l2_bytes_per_us = 8.3e6,
    // 64 bytes a cycle between the second cache and a multiprocessor.
    .multiprocessor_bytes_per_us = 0.12e6,
    // White paper: 50 MB.
    .l2_bytes = int64_t{50} << 20,
    // Data sheet: 141 GB.
    .memory_bytes = int64_t{141} * 1000 * 1000 * 1000,
    // Measured: 0.5 us between empty kernels of a chain, and 1.3 us for the smallest that do work.
    .kernel_us = 1.2,
    // Measured: convolutions that are small take that much longer than elementwise kernels.
    .product_us = 1.6,
    // Measured: a fork into two chains and their join take 2 us more than one chain does.
    .cross_stream_us = 1.0,
    .streams_max = 16,
};

}  // namespace plait
