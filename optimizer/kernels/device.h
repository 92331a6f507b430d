#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

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

  // How kernels run beside each other. What is 0 of a processor follows from its threads.
  int streams_max = 0;                // that make progress at the same time; 0: as many as threads
  double launch_gap_us = 0;           // between kernels, beyond what profiles contain (Profile)
  double cross_stream_us = 0;         // added where a kernel waits for one on another stream
  double bandwidth_bytes_per_us = 0;  // of memory; 0: unknown, and then never a limit
};

// The backend of devices that are described and not at hand (optimizer/cost/described_device.h): no
// executor runs its kernels.
constexpr absl::string_view kDescribedBackend = "model";

// What a fingerprint says, which begins with the backend and has further fields behind semicolons:
// "cpu;_name;_make;_avx512;_threads=2". Pure and thread-safe, for any text.
absl::string_view BackendOfFingerprint(absl::string_view fingerprint);
// One of kInstructionSetNames; empty where the fingerprint has none, as other backends' do.
absl::string_view InstructionSetOfFingerprint(absl::string_view fingerprint);
// The fingerprint of the same device with another number of threads granted. One that does not tell
// the number stays as it is.
std::string FingerprintWithThreads(absl::string_view fingerprint, int threads);

}  // namespace plait
