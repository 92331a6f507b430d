#include "client/kept_text.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace plait {
namespace {

// 1e-2: what is farther off than that is rather wrong than rounded.
constexpr double kErrorProposedMax = 1e-2;

// The least power of ten that accepts the error.
double ProposedLimit(double error) {
  double limit = std::pow(10, std::floor(std::log10(error)));
  while (limit < error) limit *= 10;
  return limit;
}

std::string DifferentText(const v1::Refusal& refusal) {
  const std::string at =
      refusal.place().empty() ? "" : absl::StrFormat(" at output \"%s\"", refusal.place());
  if (!std::isfinite(refusal.error())) {
    return absl::StrCat("differs", at, " in what no limit accepts");
  }
  std::string text =
      absl::StrFormat("differs by %.1e%s (limit %.0e%s%s)", refusal.error(), at, refusal.limit(),
                      refusal.message().empty() ? "" : ", ", refusal.message());
  if (refusal.error() <= kErrorProposedMax) {
    absl::StrAppendFormat(&text, "; --max-rel-error %.0e would accept it",
                          ProposedLimit(refusal.error()));
  }
  return text;
}

std::string PlanText(const v1::Refusal& refusal) {
  switch (refusal.reason()) {
    case v1::REFUSAL_REASON_DIFFERENT:
      return DifferentText(refusal);
    case v1::REFUSAL_REASON_INCONCLUSIVE:
      return "has outputs that prove too little; --accept-inconclusive would accept it";
    case v1::REFUSAL_REASON_FAILED:
      return absl::StrCat("did not run: ", refusal.message());
    case v1::REFUSAL_REASON_NOT_CHOSEN:
      return absl::StrFormat("ran at %.3fx in %.1f us, slower than another one that lost",
                             refusal.speedup(), refusal.latency_us_median());
    default:
      // Nothing runs on a device that is only described.
      if (refusal.latency_us_median() == 0) {
        return absl::StrFormat("is at %.3fx with other constants of the device",
                               refusal.speedup_certain());
      }
      return absl::StrFormat("ran at %.3fx in %.1f us, of which %.3fx is certain",
                             refusal.speedup(), refusal.latency_us_median(),
                             refusal.speedup_certain());
  }
}

std::string RefusedKernelText(const v1::Refusal& refusal) {
  return absl::StrFormat(
      "no other plan ran; %s was not accurate enough at %d layers (error %.1e at %s, limit %.1e)",
      refusal.kernel(), refusal.layers(), refusal.error(), refusal.place(), refusal.limit());
}

}  // namespace

std::string KeptText(const v1::Report& report) {
  if (report.optimized().origin() != "baseline" || report.refused().empty()) return "";
  const v1::Refusal& best = report.refused(0);
  if (!best.kernel().empty()) return absl::StrCat("the original: ", RefusedKernelText(best));
  return absl::StrFormat("the original: the best candidate (predicted %.2fx) %s",
                         best.speedup_predicted(), PlanText(best));
}

}  // namespace plait
