#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "bench/simulated_gpu/kernel_traffic.h"
#include "bench/simulated_gpu/model_kernels.h"

namespace plait {

// Bytes moved for each that is asked for: what no kernel passes that is not on the list.
inline constexpr double kTrafficRatioMax = 1.25;

// Why a kernel of ours may touch sectors that it does not fill: a line of traffic_exceptions.def.
enum class TrafficReason {
#define PLAIT_TRAFFIC_EXCEPTION(name, ratio_max_fp32, ratio_max_16_bits, reason) name,
#include "bench/simulated_gpu/traffic_exceptions.def"
#undef PLAIT_TRAFFIC_EXCEPTION
};

struct TrafficException {
  const char* name;
  double ratio_max_fp32;
  double ratio_max_16_bits;
  const char* reason;

  double ratio_max(int64_t element_bytes) const {
    return element_bytes >= 4 ? ratio_max_fp32 : ratio_max_16_bits;
  }
};
absl::Span<const TrafficException> TrafficExceptions();  // by TrafficReason

// The sectors that `bytes` neighbours touch at the worst of the places that are multiples of
// `alignment_bytes`, a power of two. WorstSectors(44, 4) is 3. REQUIRES: bytes > 0.
int64_t WorstSectors(int64_t bytes, int64_t alignment_bytes);

// What an operand's loads or stores may reach by arithmetic: how its elements are asked for, and
// where these lie, decide it.
struct TrafficBound {
  TrafficReason reason;
  double ratio = 1;
};

// REQUIRES: IsLimited().
TrafficBound TrafficBoundOf(const ModelKernel& kernel, const OperandTraffic& traffic);

// Whether there is a limit: of all stores, those to a workspace too, and of images, packed weights
// and residuals that depthwise convolutions in channels-last load.
bool IsLimited(const ModelKernel& kernel, const OperandTraffic& traffic);

// Says what moves more than it may, and which exceptions none needed. Not thread-safe.
class TrafficCheck {
 public:
  // Empty: it keeps to kTrafficRatioMax, or is an exception that its list and arithmetic allow.
  std::string Check(const ModelKernel& kernel, const OperandTraffic& traffic);

  // Exceptions that no kernel needed so far, or of which the list allows a tenth more than any
  // needed.
  std::vector<std::string> Unneeded() const;

 private:
  std::map<std::pair<TrafficReason, bool>, double> needed_;  // by reason, and whether in fp32
};

}  // namespace plait
