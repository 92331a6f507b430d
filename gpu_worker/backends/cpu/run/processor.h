#pragma once

#include <cstdint>
#include <string>

namespace plait {

// What a processor says of itself. Its name alone is not enough: "Intel(R) Xeon(R) Processor" is
// what virtual machines on several generations of processors are told.
struct Processor {
  std::string name;    // the brand, for people; "x86-64" or "unknown processor" when there is none
  std::string vendor;  // "GenuineIntel", "AuthenticAMD"; "unknown" on other than x86-64
  int family = 0;      // as vendors count them, with the extended parts
  int model = 0;
  int stepping = 0;
  uint32_t features_hash = 0;  // of the bits that say which instructions there are
  int64_t l2_bytes = 0;        // of one core; 0: unknown
  int64_t l3_bytes = 0;        // of the part of the processor that the system sees; 0: unknown
  int l3_threads = 0;          // hardware threads that share it, at most; 0: unknown

  friend bool operator==(const Processor&, const Processor&) = default;
};

// Of the processor that this runs on. Thread-safe. Never fails.
Processor DescribeProcessor();

// All but the name as one word, such as "GenuineIntel-6-143-8-0f1e2d3c-l2-2048K-l3-107520K": the
// same for two processors only where they are of one make. Folders of results have this name, too.
std::string ProcessorId(const Processor& processor);

}  // namespace plait
