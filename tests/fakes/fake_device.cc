#include "tests/fakes/fake_device.h"

#include <algorithm>
#include <cstdio>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

// The inverse of what FakeDevice writes; 1 for any other device.
int ThreadsOf(const std::string& fingerprint) {
  int threads = 1;
  std::sscanf(fingerprint.c_str(), "fake device, %d", &threads);
  return threads;
}

bool IsUnary(const Graph& graph, NodeId node) {
  return HasTraits(graph.node(node).op, kElementwiseUnary) && graph.node(node).inputs.size() == 1;
}

}  // namespace

Graph GraphOf(absl::string_view text) {
  absl::StatusOr<Graph> graph = ParseTypedGraph(text);
  if (!graph.ok()) std::fprintf(stderr, "%s\n", graph.status().ToString().c_str());
  PLAIT_CHECK(graph.ok());
  return *std::move(graph);
}

DeviceDescription FakeDevice(int threads) {
  DeviceDescription device;
  device.id = "fake";
  device.backend = "fake";
  device.fingerprint = absl::StrCat("fake device, ", threads, " threads");
  device.threads = threads;
  return device;
}

void FakeCatalog::AddVariants(const Graph& graph, const std::vector<NodeId>& nodes,
                              std::vector<Kernel>* kernels) const {
  const OpKind op = graph.node(nodes[0]).op;
  const bool in_digits =
      offers_digits && op == OpKind::kMatMul && graph.constant(nodes[0], 1) != nullptr;
  const bool spatial = graph.output_type(nodes[0]).rank() == 4 &&
                       (op == OpKind::kConv || op == OpKind::kConcat || IsUnary(graph, nodes[0]));
  for (const Format format : {Format::kPlain, Format::kChannelsLast}) {
    if (format == Format::kChannelsLast && !(channels_last_ && spatial)) continue;
    for (const int threads : {1, threads_}) {
      if (threads == 1 && threads_ == 1 && !kernels->empty() && kernels->back().nodes == nodes &&
          kernels->back().output_formats[0] == format) {
        continue;
      }
      Kernel kernel;
      kernel.family = HasTraits(op, kView) ? "view" : "fake";
      kernel.nodes = nodes;
      kernel.width = threads;
      kernel.input_formats.assign(InputsOf(graph, nodes).size(), format);
      kernel.output_formats.assign(OutputsOf(graph, nodes).size(), format);
      kernels->push_back(kernel);
      const auto add_again = [&](const char* family) {
        kernels->push_back(kernel);
        kernels->back().family = family;
      };
      if (offers_twins && kernel.family == "fake") add_again("twin");
      if (in_digits) add_again("digits");
    }
  }
}

std::vector<Kernel> FakeCatalog::KernelsAt(const Graph& graph, NodeId node, bool fuse) const {
  std::vector<Kernel> kernels;
  std::vector<NodeId> nodes = {node};
  AddVariants(graph, nodes, &kernels);
  if (!fuse || HasTraits(graph.node(node).op, kView)) return kernels;
  while (graph.has_single_use(graph.node(nodes.back()).outputs[0])) {
    const NodeId next = graph.users(graph.node(nodes.back()).outputs[0])[0];
    if (!IsUnary(graph, next) || nodes.size() == 3) break;
    nodes.push_back(next);
    AddVariants(graph, nodes, &kernels);
  }
  return kernels;
}

Kernel FakeCatalog::Reorder(const TensorType& /*type*/, Format from, Format to) const {
  Kernel kernel;
  kernel.family = "reorder";
  kernel.input_formats = {from};
  kernel.output_formats = {to};
  return kernel;
}

std::optional<std::string> FakeCatalog::MoreExact(const Kernel& kernel) const {
  if (!offers_careful_digits || kernel.variant == "careful") return std::nullopt;
  return "careful";
}

std::optional<std::string> FakeCatalog::LessExact(const Kernel& kernel) const {
  if (!offers_rough_digits || kernel.family != "digits" || !kernel.variant.empty()) {
    return std::nullopt;
  }
  return "rough";
}

absl::string_view FakeCatalog::Version(absl::string_view /*family*/) const { return "1"; }

Profile FakeProfiler::ProfileOf(const ProfileKey& key) const {
  Profile profile;
  profile.samples = 20;
  const Graph graph = GraphOf(key.graph_text);
  double us = key.family == "reorder" ? 4 : 0;
  for (NodeId node = 0; node < graph.node_count(); ++node) {
    const auto known = node_us.find(std::string(OpKindName(graph.node(node).op)));
    us += known == node_us.end() ? 10 : known->second;
    profile.flops += WorkOf(graph, node).flops;
  }
  if (graph.node_count() > 1) us *= 0.6;
  if (key.width > 1) us /= 0.9 * key.width;
  if (absl::StrContains(key.formats, "channels_last")) {
    us *= key.family == "fake" ? 0.5 : channels_last_factor;
  }
  const auto factor = family_factor.find(key.family);
  if (factor != family_factor.end()) us *= factor->second;
  if (key.variant == "rough") us *= 0.5;
  profile.latency_us_median = us;
  profile.latency_us_p10 = us;
  profile.compute_share = static_cast<double>(key.width) / ThreadsOf(key.device_fingerprint);
  return profile;
}

absl::StatusOr<std::vector<Profile>> FakeProfiler::Measure(
    absl::Span<const ProfileRequest> requests) {
  ++batches;
  std::vector<Profile> profiles;
  for (const ProfileRequest& request : requests) {
    measured.push_back(request.key.ToString());
    profiles.push_back(ProfileOf(request.key));
  }
  return profiles;
}

int FakeVerifier::PlaceOf(const std::string& candidate) {
  const auto found = std::find(seen_.begin(), seen_.end(), candidate);
  if (found != seen_.end()) return static_cast<int>(found - seen_.begin());
  seen_.push_back(candidate);
  return static_cast<int>(seen_.size()) - 1;
}

absl::StatusOr<std::vector<CandidateMeasurement>> FakeVerifier::Verify(
    absl::Span<const PlanCandidate> candidates, const VerificationBatch& batch) {
  ++calls;
  Random random(static_cast<uint64_t>(calls));
  std::vector<CandidateMeasurement> measurements;
  for (const PlanCandidate& candidate : candidates) {
    const absl::Status status = CheckPlan(candidate.plan, candidate.graph);
    if (!status.ok()) plan_errors.push_back(status.ToString());
    const int place = PlaceOf(candidate.id);
    const double factor = place == 0 ? 1 : candidate_factor + factor_step * (place - 1);
    CandidateMeasurement measurement;
    measurement.candidate = candidate.id;
    for (int round = 0; round < batch.loads * batch.rounds; ++round) {
      measurement.latency_us.push_back(100 * factor * random.Uniform(0.99, 1.01));
    }
    measurement.load_rounds.assign(batch.loads, batch.rounds);
    measurement.equivalence = {place == 0 ? Verdict::kEquivalent : verdict, 1e-6, 1e-7, 3};
    measurement.equivalence.outputs.resize(candidate.graph.outputs().size());
    measurement.load_ms = {3, 1, 2};
    measurements.push_back(std::move(measurement));
  }
  return measurements;
}

absl::StatusOr<std::vector<LayerError>> FakeVerifier::MeasureErrors(const PlanCandidate& candidate,
                                                                    absl::Span<const int> steps) {
  std::vector<std::string>& asked = errors_asked.emplace_back();
  std::vector<LayerError> errors;
  for (const int step : steps) {
    const Kernel& kernel = candidate.plan.steps[step].kernel;
    const TensorId output = candidate.graph.node(kernel.nodes.front()).outputs[0];
    asked.push_back(absl::StrCat(kernel.variant, kernel.variant.empty() ? "" : " ", kernel.family,
                                 " ", *candidate.graph.tensor(output).name));
    const auto known = layer_errors.find(asked.back());
    errors.push_back(known == layer_errors.end() ? LayerError() : known->second);
  }
  return errors;
}

}  // namespace plait
