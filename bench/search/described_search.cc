#include "bench/search/described_search.h"

#include <fstream>
#include <iterator>
#include <memory>
#include <utility>

#include "base/status_macros.h"
#include "gpu_worker/backends/catalogs.h"
#include "optimizer/cost/predicted_profiler.h"
#include "optimizer/normal_form/canonicalize.h"
#include "optimizer/onnx/bind.h"
#include "optimizer/onnx/import.h"

namespace plait {
namespace {

class NoProgress : public ProgressSink {
 public:
  void OnPhase(absl::string_view, double) override {}
};

// Finds everything equal, and times nothing.
class EqualOutputs : public Verifier {
 public:
  absl::StatusOr<std::vector<CandidateMeasurement>> Verify(
      absl::Span<const PlanCandidate> candidates, const VerificationBatch&) override {
    CandidateMeasurement equal;
    equal.equivalence.verdict = Verdict::kEquivalent;
    return std::vector<CandidateMeasurement>(candidates.size(), equal);
  }
  absl::StatusOr<std::vector<LayerError>> MeasureErrors(const PlanCandidate&,
                                                        absl::Span<const int>) override {
    return absl::UnimplementedError("no kernel needs admission");
  }
};

absl::StatusOr<SearchResult> Search(const Graph& graph, const DeviceDescription& device,
                                    const KernelCatalog& catalog, Profiler& profiler,
                                    const SearchOptions& options) {
  MeasurementLog log;
  ProfileCache profiles(profiler, log);
  EqualOutputs verifier;
  UnlimitedBudget budget;
  NoProgress progress;
  return Optimize(graph, options,
                  {.device = device,
                   .catalog = catalog,
                   .profiles = profiles,
                   .verifier = verifier,
                   .budget = budget,
                   .log = log,
                   .progress = progress,
                   .is_predicted = true});
}

}  // namespace

absl::StatusOr<DescribedModel> DescribedModelOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  PLAIT_ASSIGN_OR_RETURN(Model model, ImportOnnx(bytes));
  PLAIT_ASSIGN_OR_RETURN(Bound bound, Bind(model, {}));
  return DescribedModel{std::move(model), std::move(bound.graph)};
}

absl::StatusOr<Graph> NormalFormOf(const std::string& path) {
  PLAIT_ASSIGN_OR_RETURN(const DescribedModel original, DescribedModelOf(path));
  RuleCounts counts;
  return Canonicalize(original.graph, AllRules(), &counts);
}

absl::StatusOr<SearchResult> SearchDescribed(const Graph& graph, const DescribedDevice& described,
                                             PredictionDetail detail, int threads, RuleList rules) {
  SearchOptions options;
  options.rules = rules;
  options.threads = threads;
  return SearchDescribed(graph, described, detail, std::move(options));
}

absl::StatusOr<SearchResult> SearchDescribed(const Graph& graph, const DescribedDevice& described,
                                             PredictionDetail detail, SearchOptions options) {
  if (options.rules.empty()) options.rules = AllRules();
  const DeviceDescription device = DescriptionOf(described);
  PLAIT_ASSIGN_OR_RETURN(const std::unique_ptr<KernelCatalog> catalog, CatalogFor(device));
  DescribedProfiler profiler(described, detail, catalog.get());
  return Search(graph, device, *catalog, profiler, options);
}

absl::StatusOr<SearchResult> SearchPredicted(const Graph& graph, RuleList rules) {
  DeviceDescription device;
  device.id = "cpu";
  device.backend = "cpu";
  device.fingerprint = "predicted";
  device.instruction_set = "avx512";
  device.threads = 2;
  PLAIT_ASSIGN_OR_RETURN(const std::unique_ptr<KernelCatalog> catalog, CatalogFor(device));
  PredictedProfiler profiler(device, *catalog);
  SearchOptions options;
  options.rules = rules;
  return Search(graph, device, *catalog, profiler, options);
}

}  // namespace plait
