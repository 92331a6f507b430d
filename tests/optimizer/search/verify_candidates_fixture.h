#pragma once

#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "optimizer/search/verify_candidates.h"
#include "tests/optimizer/search/scripted_verifier.h"

namespace plait {

// The baseline "base" and candidates "1", "2" and so on, each of which runs for so long.
inline std::vector<PlanCandidate> Candidates(int count, double predicted_us = 100) {
  std::vector<PlanCandidate> candidates;
  for (int i = 0; i <= count; ++i) {
    candidates.push_back({i == 0 ? "base" : absl::StrCat(i), Graph(), Plan(), predicted_us});
  }
  return candidates;
}

class VerifyCandidatesTest : public testing::Test {
 protected:
  absl::StatusOr<VerificationResult> Verify(const std::vector<PlanCandidate>& candidates) {
    return VerifyCandidates(candidates, {}, {verifier_, budget_, log_, {0.01, 20}});
  }

  ScriptedVerifier verifier_;
  ScriptedBudget budget_;
  MeasurementLog log_;
};

// The candidate is 4 % faster, and in the first loads so by 8 and 0 % in turn.
inline void DisturbFirstLoads(ScriptedVerifier& verifier) {
  verifier.latency_us = {{"base", 104}, {"1", 100}};
  verifier.change["1"] = [&verifier](CandidateMeasurement& m) {
    if (!verifier.calls.empty()) return;
    for (size_t round = 0; round < m.latency_us.size(); ++round) {
      m.latency_us[round] *= round / 12 % 2 == 0 ? 0.96 : 1.04;
    }
  };
}

}  // namespace plait
