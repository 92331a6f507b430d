#include "server/search_child/report.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/statistics.h"
#include "optimizer/plan/step_work.h"
#include "optimizer/search/verify_predicted.h"
#include "proto/wire/error.h"
#include "server/search_child/fallback_operators.h"
#include "server/search_child/host_segments.h"
#include "server/search_child/planned_parts.h"
#include "server/search_child/refusal_report.h"

namespace plait {
namespace {

// 256 KiB: thousands of decisions, in a message that travels with each look at the job.
constexpr size_t kTraceBytesMax = size_t{256} << 10;
// 256 names of outputs stand in it, too.
constexpr size_t kOutputNameBytesMax = 1024;
constexpr int kOpaqueNodesToldMax = 1000;
// Each of many islands has a few.
constexpr size_t kPlanTimesToldMax = 256;
// Some quote names of the file, and there may be one for each of its tensors.
constexpr size_t kWarningsToldMax = 64;
constexpr size_t kWarningBytesMax = 1024;

v1::Verdict VerdictOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kEquivalent:
      return v1::VERDICT_EQUIVALENT;
    case Verdict::kDifferent:
      return v1::VERDICT_DIFFERENT;
    case Verdict::kInconclusive:
      return v1::VERDICT_INCONCLUSIVE;
  }
  return v1::VERDICT_UNSPECIFIED;
}

// Baseline and optimized have the same fields in different messages.
template <typename Times>
void SetTimes(const std::vector<double>& samples_us, Times* times) {
  if (samples_us.empty()) return;
  times->set_latency_us_median(Median(samples_us));
  times->set_latency_us_p10(Quantile(samples_us, 0.1));
  times->set_latency_us_p95(Quantile(samples_us, 0.95));
  times->set_samples(static_cast<int64_t>(samples_us.size()));
}

void SetSearch(const SearchFacts& facts, const SearchResult& result, v1::SearchReport* search) {
  // All three are told, so that a user sees what a larger budget would buy.
  search->set_seconds(facts.seconds);
  search->set_profiling_seconds(facts.profiling_seconds);
  search->set_verification_seconds(facts.verification_seconds);
  search->set_candidates(result.candidates);
  search->set_candidates_measured(result.candidates_measured);
  search->set_profiles_measured(facts.profiles_measured);
  search->set_profiles_cached(facts.profiles_cached);
  search->set_profiles_unsteady(facts.profiles_unsteady);
  for (const auto& [rule, count] : result.rules_applied) {
    (*search->mutable_rules_applied())[std::string(rule)] = count;
  }
  search->set_budget_exhausted(result.budget_exhausted);
  search->set_regions(result.regions);
  search->set_regions_solved(result.regions_solved);
  const size_t told = std::min(result.plan_times.size(), kPlanTimesToldMax);
  for (const PlanTimes& times : absl::MakeConstSpan(result.plan_times).first(told)) {
    v1::PlanTimes& message = *search->add_plan_times();
    message.set_predicted_us(times.predicted_us);
    message.set_latency_us_median(times.latency_us);
    message.set_speedup_predicted(times.predicted_speedup);
    message.set_speedup(times.speedup);
    message.set_won(times.won);
  }
  // Names of nodes stand in it, which may be any bytes.
  search->set_trace(wire::ValidUtf8(result.trace, kTraceBytesMax));
}

// Of a kernel without inputs, which makes something of constants, its output's.
Format FormatOf(const Kernel& kernel) {
  if (!kernel.input_formats.empty()) return kernel.input_formats.front();
  return kernel.output_formats.empty() ? Format::kPlain : kernel.output_formats.front();
}

int64_t KernelsOf(absl::Span<const PlannedPart> parts) {
  int64_t kernels = 0;
  for (const PlannedPart& part : parts) kernels += static_cast<int64_t>(part.plan.steps.size());
  return kernels;
}

int64_t OffchipBytesOf(absl::Span<const PlannedPart> parts) {
  int64_t bytes = 0;
  for (const PlannedPart& part : parts) bytes += OffchipBytes(part.plan, part.graph);
  return bytes;
}

// What the kernels of the plans do.
void SetKernels(absl::Span<const PlannedPart> parts, v1::OptimizedReport* optimized) {
  std::map<Format, double> flops;
  double flops_sum = 0;
  int64_t copies = 0;
  for (const auto& [graph, plan] : parts) {
    for (const Step& step : plan.steps) {
      const auto of_step = static_cast<double>(FlopsOf(step, graph));
      if (of_step > 0) flops[FormatOf(step.kernel)] += of_step;
      if (IsCopy(step, plan, graph)) ++copies;
      flops_sum += of_step;
    }
  }
  for (const auto& [format, of_format] : flops) {
    (*optimized->mutable_formats())[std::string(FormatName(format))] = of_format / flops_sum;
  }
  optimized->set_kernels(KernelsOf(parts));
  optimized->set_copies(copies);
}

template <typename Planned>
void SetPrediction(double predicted_us, const std::vector<double>& draws_us, Planned* planned) {
  planned->set_predicted_us(predicted_us);
  if (draws_us.empty()) return;
  const DrawBounds bounds = BoundsOfDraws(predicted_us, draws_us);
  planned->set_predicted_us_low(bounds.low);
  planned->set_predicted_us_high(bounds.high);
}

template <typename Planned>
void SetFallbacks(const internal::Start& start, absl::Span<const PlannedPart> parts,
                  Planned* planned) {
  int64_t nodes = 0;
  for (v1::FallbackOperator& fallback : FallbackOperators(start, parts)) {
    nodes += fallback.nodes();
    *planned->add_fallback_operators() = std::move(fallback);
  }
  planned->set_fallback_nodes(nodes);
}

// Names that a file may make as long and as many as it likes.
void SetOpaqueNodes(const SearchFacts& facts, v1::Report* report) {
  const size_t count = std::min<size_t>(facts.opaque_nodes.size(), kOpaqueNodesToldMax);
  for (const OpaqueNode& node : facts.opaque_nodes.first(count)) {
    report->mutable_model()->add_opaque_nodes(wire::ValidUtf8(node.name, kNameBytesMax));
  }
  if (count < facts.opaque_nodes.size()) {
    report->add_warnings(absl::StrCat("the report names ", count, " of ", facts.opaque_nodes.size(),
                                      " opaque nodes"));
  }
}

void AddWarnings(const SearchFacts& facts, v1::Report* report) {
  const size_t count = std::min(facts.warnings.size(), kWarningsToldMax);
  for (const std::string& warning : facts.warnings.first(count)) {
    report->add_warnings(wire::ValidUtf8(warning, kWarningBytesMax));
  }
  if (count < facts.warnings.size()) {
    report->add_warnings(absl::StrCat("the report tells ", count, " of ", facts.warnings.size(),
                                      " warnings about the model"));
  }
}

void SetEquivalence(const SearchFacts& facts, const SearchResult& result,
                    v1::EquivalenceReport* equivalence) {
  equivalence->set_verdict(VerdictOf(result.equivalence.verdict));
  equivalence->set_max_abs_error(result.equivalence.max_abs_error);
  equivalence->set_max_rel_error(result.equivalence.max_rel_error);
  equivalence->set_inputs_tried(result.equivalence.inputs_tried);
  equivalence->set_exact_ratio(result.equivalence.exact_ratio);
  // A worker may answer about more of them than there are.
  const size_t count = std::min(result.equivalence.outputs.size(), facts.graph.outputs().size());
  for (size_t i = 0; i < count; ++i) {
    const OutputError& error = result.equivalence.outputs[i];
    v1::OutputError& output = *equivalence->add_outputs();
    const std::string& name = *facts.graph.tensor(facts.graph.outputs()[i]).name;
    output.set_name(wire::ValidUtf8(name, kOutputNameBytesMax));
    output.set_max_abs_error(error.max_abs_error);
    output.set_max_rel_error(error.max_rel_error);
    output.set_rms_error(error.rms_error);
    output.set_max_channel_error(error.max_channel_error);
  }
}

// The report's verdict alone would leave a user to guess.
std::string InconclusiveWarning(const SearchResult& result) {
  const absl::string_view reason = result.equivalence.dead_outputs
                                       ? "an output has one value everywhere, whatever the input"
                                       : "no outputs were compared";
  return absl::StrCat("the comparison of outputs is inconclusive: ", reason, "; ",
                      result.improved ? "the optimized model is returned, because that was accepted"
                                      : "the original is returned (--accept-inconclusive returns "
                                        "the fastest plan whose outputs agree)");
}

}  // namespace

v1::Report MakeReport(const internal::Start& start, const SearchFacts& facts,
                      const SearchResult& result) {
  v1::Report report;
  *report.mutable_model()->mutable_digest() = start.model();
  report.mutable_model()->set_nodes(facts.graph.node_count());
  SetOpaqueNodes(facts, &report);
  AddHostSegments(facts.graph, facts.opaque_nodes, report.mutable_model());
  v1::DeviceReport& device = *report.mutable_device();
  device.set_id(start.device().id());
  device.set_name(start.device().name());
  device.set_fingerprint(start.device().fingerprint());
  device.set_predicted(start.device().predicted());

  // Both from the deciding verification, whose rounds they share.
  SetTimes(result.baseline_latency_us, report.mutable_baseline());
  const std::vector<PlannedPart> baseline_parts = BaselinePartsOf(facts.graph, result);
  report.mutable_baseline()->set_kernels(KernelsOf(baseline_parts));
  report.mutable_baseline()->set_offchip_bytes(OffchipBytesOf(baseline_parts));
  SetFallbacks(start, baseline_parts, report.mutable_baseline());
  SetPrediction(result.predicted_baseline_us, result.baseline_draws_us, report.mutable_baseline());
  report.mutable_baseline()->set_load_ms(result.baseline_load_ms);
  v1::OptimizedReport& optimized = *report.mutable_optimized();
  SetTimes(result.optimized_latency_us, &optimized);
  const std::vector<PlannedPart> parts = PartsOf(result);
  SetKernels(parts, &optimized);
  optimized.set_load_ms(result.load_ms);
  SetFallbacks(start, parts, &optimized);
  optimized.set_offchip_bytes(OffchipBytesOf(parts));
  optimized.set_precision(parts.empty() ? result.plan.precision : parts.front().plan.precision);
  optimized.set_portable(IsPortable(result.rules_applied));
  optimized.set_body(std::string(facts.body));
  SetPrediction(result.predicted_us, result.optimized_draws_us, &optimized);
  optimized.set_origin(result.origin);
  optimized.set_schedule(result.schedule);

  report.set_speedup(result.speedup.median);
  report.set_speedup_low(result.speedup.low);
  report.set_speedup_high(result.speedup.high);
  SetEquivalence(facts, result, report.mutable_equivalence());
  SetSearch(facts, result, report.mutable_search());
  SetRefused(result, &report);
  AddWarnings(facts, &report);
  if (report.equivalence().verdict() == v1::VERDICT_INCONCLUSIVE) {
    report.add_warnings(InconclusiveWarning(result));
  }
  report.set_engine_version(start.engine_version());
  return report;
}

v1::Plan MakePlanMessage(const SearchResult& result) {
  const std::vector<PlannedPart> parts = PartsOf(result);
  v1::Plan message;
  v1::PlanSummary& summary = *message.mutable_summary();
  int streams = 0;
  int edges = 0;
  int64_t arena_bytes = 0;
  int64_t constant_bytes = 0;
  for (const auto& [graph, plan] : parts) {
    absl::StrAppend(message.mutable_text(), PrintPlan(plan));
    streams = std::max(streams, plan.streams);
    for (const Step& step : plan.steps) edges += static_cast<int>(step.waits.size());
    arena_bytes += plan.arena_bytes;
    std::set<TensorId> weights;
    for (const Step& step : plan.steps) weights.merge(WeightsOf(step, graph));
    for (const TensorId weight : weights) constant_bytes += graph.type(weight).bytes();
  }
  const Plan& first = parts.empty() ? result.plan : parts.front().plan;
  message.set_format_version(Plan::kVersion);
  message.set_graph_fingerprint(first.graph_fingerprint);
  message.set_device_fingerprint(first.device_fingerprint);
  message.set_engine_version(first.engine_version);
  summary.set_kernels(static_cast<int>(KernelsOf(parts)));
  summary.set_streams(streams);
  summary.set_cross_stream_edges(edges);
  summary.set_arena_bytes(arena_bytes);
  summary.set_constant_bytes(constant_bytes);
  summary.set_schedule_policy(result.schedule);
  if (!first.predicted) summary.set_latency_us_predicted(result.predicted_us);
  return message;
}

}  // namespace plait
