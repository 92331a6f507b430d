#include "optimizer/cost/equivalence.h"

namespace plait {

absl::string_view VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kEquivalent:
      return "equivalent";
    case Verdict::kDifferent:
      return "different";
    case Verdict::kInconclusive:
      break;
  }
  return "inconclusive";
}

}  // namespace plait
