#pragma once

#include <cstdint>
#include <string>

namespace plait {

// A device as the search needs to know it; the worker reports one.
// A value: the catalog, the search and plans work from it on machines that have no such device.
struct DeviceDescription {
  std::string id;       // "cpu", "cuda:0"
  std::string backend;  // "cpu", "cuda", "reference"
  std::string name;     // the processor's or GPU's name
  // Two devices with equal fingerprints give equal times, so that profiles of one serve the other.
  std::string fingerprint;      // everything that a measured time depends on, as one line
  std::string instruction_set;  // "generic", "avx2", "avx512", "avx512_bf16", "amx", "sm_90"
  int threads = 1;              // cores granted; the width of a kernel that takes the whole device
  int64_t memory_bytes = 0;
};

}  // namespace plait
