#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "bench/simulated_gpu/ptxas_log.h"

namespace plait {

// A variant of generated kernels that may spill on an architecture, where ptxas stays at so many
// registers.
struct SpillException {
  const char* family;
  const char* variant;
  const char* architecture;
  int bytes_max;  // of a thread, as SpilledBytes
  int registers;
};

// Those of spill_exceptions.def.
absl::Span<const SpillException> SpillExceptions();

// Bytes that a thread stores, or loads where these are more. 0: the kernel does not spill.
int SpilledBytes(const KernelResources& resources);

// A kernel as ptxas compiled it for an architecture.
struct CompiledKernel {
  std::string family, variant, architecture;
  int threads = 0;
  KernelResources resources;
};

// Says which kernels spill that may not, and which exceptions none needed. Not thread-safe.
class SpillCheck {
 public:
  explicit SpillCheck(absl::Span<const SpillException> exceptions = SpillExceptions())
      : exceptions_(exceptions) {}

  // Why the kernel may not spill as it does: it is not listed, spills more, or does so for another
  // reason than the list's. Empty: it may, or does not spill.
  std::string Check(const CompiledKernel& kernel);

  // Those that no kernel needed so far, and what they still list.
  std::vector<std::string> Unneeded() const;

 private:
  absl::Span<const SpillException> exceptions_;
  std::map<const SpillException*, int> needed_;  // to the most bytes that it was needed for
};

}  // namespace plait
