#include "proto/wire/measurement.h"

#include <algorithm>
#include <cmath>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "proto/wire/profile.h"

namespace plait::wire {
namespace {

// Reorders are the only steps without a node, and none of them is behind another.
constexpr int kStepsMax = 4 * kSearchNodesMax;

// What a search must not divide by counts as unknown.
double RateOrUnknown(double rate) { return std::isfinite(rate) && rate > 0 ? rate : 0; }

bool IsFiniteAndNotNegative(double value) { return std::isfinite(value) && value >= 0; }

worker::v1::StepError StepErrorToProto(const LayerError& error) {
  worker::v1::StepError proto;
  proto.set_error(error.error);
  proto.set_serial_error(error.serial_error);
  proto.set_hard_error(error.hard_error);
  proto.set_serial_hard_error(error.serial_hard_error);
  return proto;
}

// Whole or not at all: with some of them left out nobody could tell which step each is of.
std::vector<LayerError> StepErrorsFromProto(const worker::v1::CandidateMeasurement& proto) {
  // A plan that a search makes has no more steps with nodes.
  if (proto.step_errors_size() > kSearchNodesMax) return {};
  std::vector<LayerError> errors;
  for (const worker::v1::StepError& step : proto.step_errors()) {
    const bool are_errors = IsFiniteAndNotNegative(step.error()) &&
                            IsFiniteAndNotNegative(step.serial_error()) &&
                            IsFiniteAndNotNegative(step.hard_error()) &&
                            IsFiniteAndNotNegative(step.serial_hard_error());
    if (!are_errors) return {};
    errors.push_back({.error = step.error(),
                      .serial_error = step.serial_error(),
                      .hard_error = step.hard_error(),
                      .serial_hard_error = step.serial_hard_error()});
  }
  return errors;
}

// Likewise.
std::vector<double> StepTimesFromProto(const worker::v1::CandidateMeasurement& proto) {
  const bool are_times =
      proto.step_us_size() <= kStepsMax &&
      std::all_of(proto.step_us().begin(), proto.step_us().end(), IsFiniteAndNotNegative);
  if (!are_times) return {};
  return {proto.step_us().begin(), proto.step_us().end()};
}

worker::v1::DeviceClock ClockToProto(const DeviceClock& clock) {
  worker::v1::DeviceClock proto;
  proto.set_mhz_min(clock.mhz_min);
  proto.set_mhz_max(clock.mhz_max);
  proto.set_spans(clock.spans);
  proto.set_spans_moving(clock.spans_moving);
  for (const std::string& limit : clock.limits) proto.add_limits(limit);
  return proto;
}

// One that cannot be so is as good as none.
DeviceClock ClockFromProto(const worker::v1::DeviceClock& proto) {
  const DeviceClock clock = {.mhz_min = proto.mhz_min(),
                             .mhz_max = proto.mhz_max(),
                             .spans = proto.spans(),
                             .spans_moving = proto.spans_moving(),
                             .limits = {proto.limits().begin(), proto.limits().end()}};
  DeviceClock sorted;
  if (IsClock(clock)) AddClock(clock, sorted);
  return sorted;
}

// Samples and how many of them each load gave, if they fit each other; else none of both, which
// makes the candidate one that was not measured.
void SetSamples(const worker::v1::CandidateMeasurement& proto, CandidateMeasurement& measurement) {
  int64_t rounds_left = proto.latency_us_size();
  for (const int rounds : proto.load_rounds()) {
    if (rounds < 1 || rounds > rounds_left) return;
    rounds_left -= rounds;
  }
  const bool are_times =
      rounds_left == 0 && std::all_of(proto.latency_us().begin(), proto.latency_us().end(),
                                      [](double us) { return us > 0 && us <= kLatencyUsMax; });
  if (!are_times) return;
  measurement.latency_us.assign(proto.latency_us().begin(), proto.latency_us().end());
  measurement.load_rounds.assign(proto.load_rounds().begin(), proto.load_rounds().end());
}

// Names, which stand on lines of a log.
void SetVariants(const worker::v1::CandidateMeasurement& proto, CandidateMeasurement& measurement) {
  const bool are_names = std::all_of(
      proto.step_variants().begin(), proto.step_variants().end(), [](const std::string& variant) {
        return absl::c_none_of(variant, [](char c) { return absl::ascii_iscntrl(c); });
      });
  if (proto.step_variants_size() > kStepsMax || !are_names) return;
  measurement.step_variants.assign(proto.step_variants().begin(), proto.step_variants().end());
}

}  // namespace

// A field that is added here must be added to the inverse.
v1::Profile ProfileToProto(const Profile& profile) {
  v1::Profile proto;
  proto.set_latency_us_median(profile.latency_us_median);
  proto.set_latency_us_p10(profile.latency_us_p10);
  proto.set_latency_us_mad(profile.latency_us_mad);
  proto.set_samples(profile.samples);
  proto.set_compute_share(profile.compute_share);
  proto.set_bytes(profile.bytes);
  proto.set_flops(profile.flops);
  *proto.mutable_yardsticks() = YardsticksToProto(profile.yardsticks);
  proto.set_implementation(profile.implementation);
  proto.set_workspace_bytes(profile.workspace_bytes);
  return proto;
}

absl::StatusOr<Profile> ProfileFromProto(const v1::Profile& proto) {
  PLAIT_RETURN_IF_ERROR(CheckProfile(proto, "profile"));
  Profile profile;
  profile.latency_us_median = proto.latency_us_median();
  profile.latency_us_p10 = proto.latency_us_p10();
  profile.latency_us_mad = proto.latency_us_mad();
  // At most kProfileSamplesMax.
  profile.samples = static_cast<int>(proto.samples());
  profile.compute_share = proto.compute_share();
  profile.bytes = proto.bytes();
  profile.flops = proto.flops();
  profile.yardsticks = YardsticksFromProto(proto.yardsticks());
  profile.implementation = proto.implementation();
  profile.workspace_bytes = proto.workspace_bytes();
  return profile;
}

v1::Yardsticks YardsticksToProto(const Yardsticks& yardsticks) {
  v1::Yardsticks proto;
  proto.set_multiply_add_flops_per_us(yardsticks.multiply_add_flops_per_us);
  proto.set_read_bytes_per_us(yardsticks.read_bytes_per_us);
  proto.set_drift(yardsticks.drift);
  return proto;
}

Yardsticks YardsticksFromProto(const v1::Yardsticks& proto) {
  return {.multiply_add_flops_per_us = RateOrUnknown(proto.multiply_add_flops_per_us()),
          .read_bytes_per_us = RateOrUnknown(proto.read_bytes_per_us()),
          .drift = RateOrUnknown(proto.drift())};
}

worker::v1::KernelRequest KernelRequestToProto(const ProfileKey& key) {
  worker::v1::KernelRequest request;
  request.set_key(key.ToString());
  request.set_family(key.family);
  request.set_variant(key.variant);
  request.set_version(key.version);
  request.set_width(key.width);
  request.set_cold_weights(key.cold_weights);
  for (const absl::string_view format : absl::StrSplit(key.formats, ',', absl::SkipEmpty())) {
    request.add_formats(std::string(format));
  }
  request.set_graph_text(key.graph_text);
  return request;
}

ProfileKey KeyOf(const worker::v1::KernelRequest& request, absl::string_view device_fingerprint) {
  ProfileKey key;
  key.device_fingerprint = std::string(device_fingerprint);
  key.family = request.family();
  key.variant = request.variant();
  key.version = request.version();
  key.width = request.width();
  key.cold_weights = request.cold_weights();
  key.graph_text = request.graph_text();
  key.formats = absl::StrJoin(request.formats(), ",");
  return key;
}

worker::v1::CandidateMeasurement CandidateMeasurementToProto(
    const CandidateMeasurement& measurement) {
  worker::v1::CandidateMeasurement proto;
  proto.set_id(measurement.candidate);
  proto.set_error(measurement.error);
  // Numbers of a run that failed halfway would be taken for those of a whole one.
  if (!measurement.error.empty()) return proto;
  for (const double latency_us : measurement.latency_us) proto.add_latency_us(latency_us);
  for (const int rounds : measurement.load_rounds) proto.add_load_rounds(rounds);
  for (const double load_ms : measurement.load_ms) proto.add_load_ms(load_ms);
  const Equivalence& equivalence = measurement.equivalence;
  proto.set_max_abs_error(equivalence.max_abs_error);
  proto.set_max_rel_error(equivalence.max_rel_error);
  proto.set_max_channel_error(equivalence.max_channel_error);
  proto.set_exact_ratio(equivalence.exact_ratio);
  proto.set_inputs_tried(equivalence.inputs_tried);
  proto.set_dead_outputs(equivalence.dead_outputs);
  proto.set_fallback_nodes(measurement.fallback_nodes);
  for (const std::string& variant : measurement.step_variants) proto.add_step_variants(variant);
  for (const OutputError& output : equivalence.outputs) {
    v1::OutputError& error = *proto.add_outputs();
    error.set_max_abs_error(output.max_abs_error);
    error.set_max_rel_error(output.max_rel_error);
    error.set_rms_error(output.rms_error);
    error.set_max_channel_error(output.max_channel_error);
  }
  for (const LayerError& error : measurement.step_errors) {
    *proto.add_step_errors() = StepErrorToProto(error);
  }
  for (const double step_us : measurement.step_us) proto.add_step_us(step_us);
  if (measurement.clock.mhz_min > 0) *proto.mutable_clock() = ClockToProto(measurement.clock);
  return proto;
}

CandidateMeasurement CandidateMeasurementFromProto(const worker::v1::CandidateMeasurement& proto,
                                                   double tolerance) {
  CandidateMeasurement measurement;
  measurement.candidate = proto.id();
  measurement.error = proto.error();
  measurement.fallback_nodes = proto.fallback_nodes();
  SetVariants(proto, measurement);
  SetSamples(proto, measurement);
  // Medians are taken of them, which needs numbers.
  const bool are_times =
      proto.load_ms_size() <= proto.load_rounds_size() &&
      std::all_of(proto.load_ms().begin(), proto.load_ms().end(),
                  [](double load_ms) { return std::isfinite(load_ms) && load_ms >= 0; });
  if (are_times) measurement.load_ms.assign(proto.load_ms().begin(), proto.load_ms().end());
  Equivalence& equivalence = measurement.equivalence;
  // For the report only; the relative errors decide.
  equivalence.max_abs_error = proto.max_abs_error();
  equivalence.max_rel_error = proto.max_rel_error();
  equivalence.max_channel_error = proto.max_channel_error();
  equivalence.exact_ratio = proto.exact_ratio();
  equivalence.inputs_tried = proto.inputs_tried();
  equivalence.dead_outputs = proto.dead_outputs();
  equivalence.verdict = JudgeErrors(equivalence, tolerance);
  for (const v1::OutputError& error : proto.outputs()) {
    // More would be too many for the log.
    if (equivalence.outputs.size() == kOutputErrorsMax) break;
    equivalence.outputs.push_back({error.max_abs_error(), error.max_rel_error(), error.rms_error(),
                                   error.max_channel_error()});
  }
  measurement.step_errors = StepErrorsFromProto(proto);
  measurement.step_us = StepTimesFromProto(proto);
  measurement.clock = ClockFromProto(proto.clock());
  return measurement;
}

}  // namespace plait::wire
