#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "optimizer/cost/profile.h"
#include "optimizer/ir/graph.h"
#include "optimizer/kernels/kernel_catalog.h"
#include "optimizer/search/verifier.h"

namespace plait {

// Parses a graph whose node outputs may come without types; a wrong text ends the test program.
Graph GraphOf(absl::string_view text);

DeviceDescription FakeDevice(int threads);

// Offers every node alone and, when fusing, a node with the chain of unary nodes behind it; each on
// one thread and on all. Convolutions, Concats and unary nodes of rank 4 also work in
// channels-last, and read and write parts where the test asks for it; where it asks for that, there
// is a twin of each kernel. For products with constants
// the same kernels are offered in the family "digits" where the test asks for it; these need
// admission.
class FakeCatalog : public KernelCatalog {
 public:
  explicit FakeCatalog(int threads, bool channels_last = false)
      : threads_(threads), channels_last_(channels_last) {}

  std::vector<Kernel> KernelsAt(const Graph& graph, NodeId node, bool fuse) const override;
  Kernel Reorder(const TensorType& type, Format from, Format to) const override;
  bool NeedsAdmission(const Kernel& kernel) const override { return kernel.family == "digits"; }
  std::optional<std::string> MoreExact(const Kernel& kernel) const override;
  std::optional<std::string> LessExact(const Kernel& kernel) const override;
  absl::string_view Version(absl::string_view family) const override;
  bool ReadsParts(const Kernel& kernel) const override {
    return takes_parts && kernel.family != family_that_reads_none;
  }
  bool WritesParts(const Kernel& kernel) const override {
    return takes_parts && kernel.family != family_that_writes_none;
  }

  bool takes_parts = false;
  std::string family_that_reads_none;  // of those that take parts
  std::string family_that_writes_none;
  bool offers_twins = false;  // every kernel of the family "fake" again, as the family "twin"
  bool offers_digits = false;
  bool offers_careful_digits = false;  // the variant "careful", where digits are refused
  bool offers_rough_digits = false;    // the variant "rough", where accuracy may be lost

 private:
  void AddVariants(const Graph& graph, const std::vector<NodeId>& nodes,
                   std::vector<Kernel>* kernels) const;

  int threads_;
  bool channels_last_;
};

// Times computed from a kernel's graph: each node takes what `node_us` says of its operator (10 us
// where it says nothing), a fused kernel 0.6 times the sum, n threads speed up by 0.9 n, a
// channels-last kernel takes 0.5 times as long, and one of a family what `family_factor` says of
// it, half of that if the variant is "rough". Reorders take 4 us. Not thread-safe.
class FakeProfiler : public Profiler {
 public:
  absl::StatusOr<std::vector<Profile>> Measure(absl::Span<const ProfileRequest> requests) override;

  std::map<std::string, double> node_us;
  std::map<std::string, double> family_factor;
  double channels_last_factor = 1;    // of families that are not the fake catalog's
  std::vector<std::string> measured;  // key texts, in order
  int batches = 0;

 private:
  Profile ProfileOf(const ProfileKey& key) const;
};

// Claims that the first candidate that it ever sees, the baseline, takes 100 us, and the others
// what the factors say in the order in which they are first seen, with 1 % of seeded noise; checks
// every plan it is given. Not thread-safe.
class FakeVerifier : public Verifier {
 public:
  absl::StatusOr<std::vector<CandidateMeasurement>> Verify(
      absl::Span<const PlanCandidate> candidates, const VerificationBatch& batch) override;
  // Of each step what `layer_errors` says of its kernel, and no error where it says nothing.
  absl::StatusOr<std::vector<LayerError>> MeasureErrors(const PlanCandidate& candidate,
                                                        absl::Span<const int> steps) override;

  // By variant, if it has a name, family, and the name of what the kernel's first node produces,
  // with spaces between.
  std::map<std::string, LayerError> layer_errors;
  std::vector<std::vector<std::string>> errors_asked;  // per call, named in the same way
  double candidate_factor = 0.5;  // time of the first candidate, relative to the baseline
  double factor_step = 0.1;       // how much slower each further one is
  Verdict verdict = Verdict::kEquivalent;
  int calls = 0;
  std::vector<std::string> plan_errors;  // what CheckPlan said about plans that were wrong

 private:
  // 0 for the baseline.
  int PlaceOf(const std::string& candidate);

  std::vector<std::string> seen_;  // ids
};

}  // namespace plait
