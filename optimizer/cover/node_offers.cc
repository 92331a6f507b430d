#include "optimizer/cover/node_offers.h"

#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "optimizer/kernels/format_rules.h"

namespace plait {
namespace {

// Asks the catalog about one node, and the admissions about what it answers.
class OfferSearch {
 public:
  OfferSearch(const Graph& graph, const KernelTableOptions& options)
      : graph_(graph), options_(options) {}

  NodeOffers Run(NodeId node) {
    for (Kernel& offered : options_.catalog.KernelsAt(graph_, node, options_.fuse)) {
      const bool needs_admission = options_.catalog.NeedsAdmission(offered);
      if (needs_admission && !options_.fuse) continue;
      AddShape(offered.nodes);
      if (!needs_admission) {
        const std::vector<Kernel> less_exact = LessExactOf(offered);
        Add(std::move(offered), false);
        for (const Kernel& kernel : less_exact) Add(kernel, true);
        continue;
      }
      for (Kernel& kernel : VariantsOf(offered)) Add(std::move(kernel), true);
    }
    return std::move(found_);
  }

 private:
  // Variants of one node set follow each other, so what depends on the set alone is kept.
  void AddShape(const std::vector<NodeId>& nodes) {
    if (!found_.shapes.empty() && nodes == found_.shapes.back().nodes) return;
    found_.shapes.push_back({nodes, InputsOf(graph_, nodes), OutputsOf(graph_, nodes)});
    structure_ = StructureFingerprint(graph_, nodes);
  }

  void Add(Kernel kernel, bool needs_admission) {
    const Fingerprint fingerprint = KernelFingerprint(structure_, kernel);
    if (needs_admission && !lossy_.insert(fingerprint).second) return;
    const int shape = static_cast<int>(found_.shapes.size()) - 1;
    found_.offers.push_back({std::move(kernel), shape, fingerprint, needs_admission});
  }

  bool IsRefused(const Kernel& kernel) const {
    return options_.admissions != nullptr &&
           options_.admissions->Of(graph_, kernel) == Admission::kRefused;
  }

  // Exchanges a variant that is refused for a more exact one; false: all are refused.
  bool ExchangeRefused(Kernel& kernel) const {
    while (IsRefused(kernel)) {
      std::optional<std::string> variant = options_.catalog.MoreExact(kernel);
      if (!variant.has_value()) return false;
      kernel.variant = *std::move(variant);
    }
    return true;
  }

  bool AdmitsLosses() const {
    return options_.admissions != nullptr && options_.admissions->AdmitsLosses();
  }

  // The variants that may run beside the kernel where a plan may lose accuracy.
  std::vector<Kernel> LessExactOf(const Kernel& kernel) const {
    const bool is_measurable = HasMeasurableLayer(graph_, kernel.nodes.front());
    if (!AdmitsLosses() || !options_.fuse || !is_measurable) return {};
    return VariantsBy(kernel, [&](const Kernel& of) { return options_.catalog.LessExact(of); });
  }

  // One after the other as `next` names them, but for those that are refused.
  template <typename Next>
  std::vector<Kernel> VariantsBy(const Kernel& kernel, Next next) const {
    std::vector<Kernel> variants;
    Kernel variant = kernel;
    while (std::optional<std::string> name = next(variant)) {
      variant.variant = *std::move(name);
      if (!IsRefused(variant)) variants.push_back(variant);
    }
    return variants;
  }

  // What may run in the kernel's place: itself, or the one that it is exchanged for. Where losses
  // are admitted, all of its variants, because each has its price.
  std::vector<Kernel> VariantsOf(const Kernel& kernel) const {
    if (!AdmitsLosses()) {
      Kernel exchanged = kernel;
      if (!ExchangeRefused(exchanged)) return {};
      return {std::move(exchanged)};
    }
    std::vector<Kernel> variants = LessExactOf(kernel);
    if (!IsRefused(kernel)) variants.push_back(kernel);
    for (Kernel& variant :
         VariantsBy(kernel, [&](const Kernel& of) { return options_.catalog.MoreExact(of); })) {
      variants.push_back(std::move(variant));
    }
    return variants;
  }

  const Graph& graph_;
  const KernelTableOptions& options_;
  NodeOffers found_;
  Fingerprint structure_;  // of the last shape
  // A variant may be offered, and be another's variant too.
  absl::flat_hash_set<Fingerprint> lossy_;
};

}  // namespace

NodeOffers OffersAt(const Graph& graph, NodeId node, const KernelTableOptions& options) {
  if (graph.node(node).op == OpKind::kOpaque) return {};
  return OfferSearch(graph, options).Run(node);
}

double PriceUs(const Graph& graph, const NodeOffers::Offer& offer,
               const KernelTableOptions& options) {
  if (!offer.needs_admission || options.admissions == nullptr) return 0;
  return options.admissions->PriceUs(graph, offer.kernel);
}

double MovingUs(const Graph& graph, const Kernel& kernel, absl::Span<const TensorId> inputs,
                absl::Span<const TensorId> outputs, const KernelTableOptions& options) {
  if (options.us_per_byte == 0 || kernel.family == kViewFamily) return 0;
  int64_t bytes = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    bytes += BytesOf(graph.type(inputs[i]), kernel.input_formats[i]);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    bytes += BytesOf(graph.type(outputs[i]), kernel.output_formats[i]);
  }
  return options.us_per_byte * static_cast<double>(bytes);
}

}  // namespace plait
