#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "optimizer/cost/measurement_log.h"
#include "optimizer/cost/measurement_log_format.h"

namespace plait {
namespace {

// 17 significant digits: every double parses back to the same bits.
std::string Number(double value) { return absl::StrFormat("%.17g", value); }

std::string YardsticksFields(const Yardsticks& yardsticks) {
  return absl::StrCat(Number(yardsticks.multiply_add_flops_per_us), "\t",
                      Number(yardsticks.read_bytes_per_us), "\t", Number(yardsticks.drift));
}

std::string ImplementationFields(const Profile& profile) {
  if (profile.implementation.empty()) return "";
  return absl::StrCat("\t", absl::CEscape(profile.implementation), "\t", profile.workspace_bytes);
}

std::string ProfileLine(const std::string& key_text, const Profile& profile) {
  return absl::StrCat("profile\t", absl::CEscape(key_text), "\t", Number(profile.latency_us_median),
                      "\t", Number(profile.latency_us_p10), "\t", Number(profile.latency_us_mad),
                      "\t", profile.samples, "\t", profile.bytes, "\t", profile.flops, "\t",
                      Number(profile.compute_share), "\t", YardsticksFields(profile.yardsticks),
                      ImplementationFields(profile), "\n");
}

std::string SamplesText(const CandidateMeasurement& measurement) {
  std::string text;
  size_t next = 0;
  for (size_t load = 0; load < measurement.load_rounds.size(); ++load) {
    if (load > 0) text += ";";
    for (int round = 0; round < measurement.load_rounds[load]; ++round) {
      absl::StrAppend(&text, round > 0 ? "," : "", Number(measurement.latency_us[next++]));
    }
  }
  return text;
}

std::string NumbersText(const std::vector<double>& values) {
  return absl::StrJoin(
      values, ",", [](std::string* text, double value) { absl::StrAppend(text, Number(value)); });
}

std::string OutputsText(const std::vector<OutputError>& outputs) {
  return absl::StrJoin(outputs, ";", [](std::string* text, const OutputError& output) {
    absl::StrAppend(text, NumbersText({output.max_abs_error, output.max_rel_error, output.rms_error,
                                       output.max_channel_error}));
  });
}

// The number of variants comes first: an empty text of them may be one or none.
std::string ClockFields(const CandidateMeasurement& measurement) {
  const DeviceClock& clock = measurement.clock;
  if (clock.mhz_min == 0) return "";
  return absl::StrCat("\t", measurement.step_variants.size(), "\t", clock.mhz_min, "\t",
                      clock.mhz_max, "\t", clock.spans, "\t", clock.spans_moving, "\t",
                      absl::CEscape(absl::StrJoin(clock.limits, ";")));
}

// Those that most devices have nothing for.
std::string LastFields(const CandidateMeasurement& measurement) {
  const double exact_ratio = measurement.equivalence.exact_ratio;
  const std::vector<std::string>& variants = measurement.step_variants;
  const std::string clock_fields = ClockFields(measurement);
  if (exact_ratio == 0 && variants.empty() && clock_fields.empty()) return "";
  const std::string ratio_text = absl::StrCat("\t", Number(exact_ratio));
  if (variants.empty() && clock_fields.empty()) return ratio_text;
  // A line for each variant, as a field.
  return absl::StrCat(ratio_text, "\t", absl::CEscape(absl::StrJoin(variants, "\n")), clock_fields);
}

std::string CandidateLine(const CandidateMeasurement& measurement) {
  const Equivalence& equivalence = measurement.equivalence;
  const std::string samples = SamplesText(measurement);
  return absl::StrCat("candidate\t", absl::CEscape(measurement.candidate), "\t", samples, "\t",
                      NumbersText(measurement.load_ms), "\t", VerdictName(equivalence.verdict),
                      "\t", Number(equivalence.max_abs_error), "\t",
                      Number(equivalence.max_rel_error), "\t",
                      Number(equivalence.max_channel_error), "\t", equivalence.inputs_tried, "\t",
                      equivalence.dead_outputs ? 1 : 0, "\t", OutputsText(equivalence.outputs),
                      "\t", measurement.fallback_nodes, "\t", absl::CEscape(measurement.error),
                      LastFields(measurement), "\n");
}

std::string StepErrorsLine(const ErrorMeasurement& measurement) {
  const auto append = [](std::string* text, const LayerError& error) {
    absl::StrAppend(text, NumbersText({error.error, error.serial_error, error.hard_error,
                                       error.serial_hard_error}));
  };
  return absl::StrCat("step_errors\t", absl::CEscape(measurement.candidate), "\t",
                      absl::StrJoin(measurement.steps, ","), "\t",
                      absl::StrJoin(measurement.errors, ";", append), "\n");
}

std::string RehearsalLine(const Rehearsal& rehearsal) {
  return absl::StrCat("rehearsal\t", absl::StrJoin(rehearsal.candidates, ","), "\t",
                      absl::StrJoin(rehearsal.step_us, ";",
                                    [](std::string* text, const std::vector<double>& step_us) {
                                      absl::StrAppend(text, NumbersText(step_us));
                                    }),
                      "\n");
}

}  // namespace

std::string MeasurementLog::ToText() const {
  std::string text = absl::StrCat(kMeasurementLogHeader, "\n");
  for (const auto& [key_text, profile] : profiles_) {
    absl::StrAppend(&text, ProfileLine(key_text, profile));
  }
  for (const std::vector<CandidateMeasurement>& batch : verifications_) {
    absl::StrAppend(&text, "verification\t", batch.size(), "\n");
    for (const CandidateMeasurement& measurement : batch) {
      absl::StrAppend(&text, CandidateLine(measurement));
    }
  }
  for (const ErrorMeasurement& measurement : error_measurements_) {
    absl::StrAppend(&text, StepErrorsLine(measurement));
  }
  for (const Rehearsal& rehearsal : rehearsals_) absl::StrAppend(&text, RehearsalLine(rehearsal));
  for (const RuntimeMeasurement& measurement : runtime_measurements_) {
    absl::StrAppend(&text, "runtime\t", absl::CEscape(measurement.runtime), "\t",
                    absl::CEscape(measurement.version), "\t", absl::CEscape(measurement.options),
                    "\t", measurement.threads, "\t", measurement.models.size(), "\n");
    for (const CandidateMeasurement& model : measurement.models) {
      absl::StrAppend(&text, CandidateLine(model));
    }
  }
  absl::StrAppend(&text, "exhausted_at_step\t", exhausted_at_step_, "\n");
  absl::StrAppend(&text, "time_answers\t");
  for (const bool has_time : time_answers_) text += has_time ? '1' : '0';
  absl::StrAppend(&text, "\nyardsticks\t", YardsticksFields(yardsticks_));
  absl::StrAppend(&text, "\nload_effect\t", Number(load_effect_.deviation), "\t",
                  load_effect_.loads, "\n");
  return text;
}

}  // namespace plait
