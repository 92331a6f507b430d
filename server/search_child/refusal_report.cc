#include "server/search_child/refusal_report.h"

#include <algorithm>

#include "base/limits.h"
#include "proto/wire/error.h"

namespace plait {
namespace {

// What a device says may be long; its beginning tells.
constexpr size_t kMessageBytesMax = 1024;

v1::RefusalReason ReasonOf(RefusalReason reason) {
  switch (reason) {
    case RefusalReason::kDifferent:
      return v1::REFUSAL_REASON_DIFFERENT;
    case RefusalReason::kInconclusive:
      return v1::REFUSAL_REASON_INCONCLUSIVE;
    case RefusalReason::kFailed:
      return v1::REFUSAL_REASON_FAILED;
    case RefusalReason::kNotChosen:
      return v1::REFUSAL_REASON_NOT_CHOSEN;
    case RefusalReason::kNotFaster:
      return v1::REFUSAL_REASON_NOT_FASTER;
    case RefusalReason::kInaccurate:
      return v1::REFUSAL_REASON_INACCURATE;
  }
  return v1::REFUSAL_REASON_UNSPECIFIED;
}

}  // namespace

void SetRefused(const SearchResult& result, v1::Report* report) {
  const size_t count = std::min(result.refused.size(), size_t{kRefusalsMax});
  for (size_t i = 0; i < count; ++i) {
    const Refusal& refusal = result.refused[i];
    v1::Refusal& message = *report->add_refused();
    message.set_reason(ReasonOf(refusal.reason));
    message.set_kernel(refusal.kernel);
    message.set_layers(refusal.layers);
    message.set_error(refusal.error);
    message.set_limit(refusal.limit);
    // Names may be any bytes.
    message.set_place(wire::ValidUtf8(refusal.place, kNameBytesMax));
    message.set_predicted_us(refusal.predicted_us);
    message.set_speedup_predicted(refusal.predicted_speedup);
    message.set_latency_us_median(refusal.latency_us);
    message.set_speedup(refusal.speedup);
    message.set_speedup_certain(refusal.speedup_certain);
    message.set_message(wire::ValidUtf8(refusal.message, kMessageBytesMax));
  }
}

}  // namespace plait
