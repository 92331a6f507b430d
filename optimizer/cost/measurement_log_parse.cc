#include <cmath>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/limits.h"
#include "optimizer/cost/measurement_log.h"
#include "optimizer/cost/measurement_log_format.h"

namespace plait {
namespace {

// Reads the tab-separated fields of one line in order; remembers whether all of them were right.
class FieldReader {
 public:
  explicit FieldReader(absl::string_view line) : fields_(absl::StrSplit(line, '\t')) {}

  absl::string_view Next() {
    if (next_ == fields_.size()) {
      ok_ = false;
      return "";
    }
    return fields_[next_++];
  }
  bool HasNext() const { return next_ < fields_.size(); }
  std::string NextEscaped() {
    std::string text;
    if (!absl::CUnescape(Next(), &text)) ok_ = false;
    return text;
  }
  double NextDouble() { return ParseDouble(Next()); }
  template <typename Integer>
  Integer NextInteger() {
    Integer value = 0;
    if (!absl::SimpleAtoi(Next(), &value)) ok_ = false;
    return value;
  }
  void NextSamples(CandidateMeasurement& measurement) {
    const absl::string_view loads = Next();
    if (loads.empty()) return;
    for (const absl::string_view load : absl::StrSplit(loads, ';')) {
      const std::vector<absl::string_view> samples = absl::StrSplit(load, ',');
      for (const absl::string_view sample : samples) {
        measurement.latency_us.push_back(ParseDouble(sample));
        Require(measurement.latency_us.back() <= kLatencyUsMax);
      }
      measurement.load_rounds.push_back(static_cast<int>(samples.size()));
    }
  }
  std::vector<double> NextDoubles() { return ParseDoubles(Next()); }
  std::vector<std::vector<double>> NextStepTimes() {
    std::vector<std::vector<double>> times;
    for (const absl::string_view candidate : absl::StrSplit(Next(), ';')) {
      times.push_back(ParseDoubles(candidate));
      for (const double step_us : times.back()) Require(step_us >= 0);
    }
    return times;
  }
  std::vector<OutputError> NextOutputs() {
    const absl::string_view text = Next();
    std::vector<OutputError> outputs;
    if (text.empty()) return outputs;
    for (const absl::string_view output : absl::StrSplit(text, ';')) {
      const std::vector<absl::string_view> errors = absl::StrSplit(output, ',');
      // A plait of before wrote no error of channels.
      Require((errors.size() == 4 || errors.size() == 3) && outputs.size() < kOutputErrorsMax);
      if (!ok_) break;
      outputs.push_back({ParseDouble(errors[0]), ParseDouble(errors[1]), ParseDouble(errors[2])});
      if (errors.size() == 4) outputs.back().max_channel_error = ParseDouble(errors[3]);
    }
    return outputs;
  }
  std::vector<int> NextSteps() {
    std::vector<int> steps;
    for (const absl::string_view text : absl::StrSplit(Next(), ',')) {
      int step = 0;
      Require(absl::SimpleAtoi(text, &step) && step >= 0 && (steps.empty() || step > steps.back()));
      steps.push_back(step);
    }
    return steps;
  }
  std::vector<LayerError> NextLayerErrors() {
    const absl::string_view text = Next();
    std::vector<LayerError> layers;
    if (text.empty()) return layers;
    for (const absl::string_view layer : absl::StrSplit(text, ';')) {
      const std::vector<absl::string_view> errors = absl::StrSplit(layer, ',');
      Require(errors.size() == 4);
      if (!ok_) break;
      LayerError& added = layers.emplace_back();
      double* const fields[] = {&added.error, &added.serial_error, &added.hard_error,
                                &added.serial_hard_error};
      for (size_t i = 0; i < errors.size(); ++i) {
        *fields[i] = ParseDouble(errors[i]);
        // By them it is decided what may run.
        Require(*fields[i] >= 0 && std::isfinite(*fields[i]));
      }
    }
    return layers;
  }
  // A log comes from whoever asks for a replay: rates are used as divisors.
  Yardsticks NextYardsticks() {
    Yardsticks yardsticks;
    for (double* const field : {&yardsticks.multiply_add_flops_per_us,
                                &yardsticks.read_bytes_per_us, &yardsticks.drift}) {
      *field = NextDouble();
      Require(*field >= 0 && std::isfinite(*field));
    }
    return yardsticks;
  }
  Verdict NextVerdict() {
    const absl::string_view name = Next();
    for (const Verdict verdict :
         {Verdict::kInconclusive, Verdict::kEquivalent, Verdict::kDifferent}) {
      if (name == VerdictName(verdict)) return verdict;
    }
    ok_ = false;
    return Verdict::kInconclusive;
  }
  // What was read makes no sense unless `holds`.
  void Require(bool holds) { ok_ = ok_ && holds; }
  // True when every field was read and none is left.
  bool Finished() const { return ok_ && next_ == fields_.size(); }

 private:
  std::vector<double> ParseDoubles(absl::string_view text) {
    std::vector<double> values;
    if (text.empty()) return values;
    for (const absl::string_view value : absl::StrSplit(text, ',')) {
      values.push_back(ParseDouble(value));
      // Medians are taken of them.
      Require(std::isfinite(values.back()));
    }
    return values;
  }
  double ParseDouble(absl::string_view text) {
    double value = 0;
    if (!absl::SimpleAtod(text, &value)) ok_ = false;
    return value;
  }

  std::vector<absl::string_view> fields_;
  size_t next_ = 0;
  bool ok_ = true;
};

void ReadProfile(FieldReader& reader, MeasurementLog& log) {
  const std::string key_text = reader.NextEscaped();
  Profile profile;
  profile.latency_us_median = reader.NextDouble();
  profile.latency_us_p10 = reader.NextDouble();
  profile.latency_us_mad = reader.NextDouble();
  profile.samples = reader.NextInteger<int>();
  profile.bytes = reader.NextInteger<int64_t>();
  profile.flops = reader.NextInteger<int64_t>();
  profile.compute_share = reader.NextDouble();
  profile.yardsticks = reader.NextYardsticks();
  if (reader.HasNext()) {
    profile.implementation = reader.NextEscaped();
    profile.workspace_bytes = reader.NextInteger<int64_t>();
  }
  // A log comes from whoever asks for a replay: the simulator would wait for ever for a kernel that
  // takes more than the device, or no time that is a number.
  const auto is_time = [](double us) { return us >= 0 && us <= kLatencyUsMax; };
  reader.Require(is_time(profile.latency_us_median) && is_time(profile.latency_us_p10) &&
                 is_time(profile.latency_us_mad) && profile.compute_share >= 0 &&
                 profile.compute_share <= 1);
  log.AddProfile(key_text, profile);
}

void ReadClock(FieldReader& reader, CandidateMeasurement& measurement) {
  std::vector<std::string>& variants = measurement.step_variants;
  const auto count = reader.NextInteger<int64_t>();
  if (count == 0 && variants.size() == 1 && variants[0].empty()) variants.clear();
  reader.Require(count == static_cast<int64_t>(variants.size()));
  DeviceClock& clock = measurement.clock;
  for (int* const field : {&clock.mhz_min, &clock.mhz_max, &clock.spans, &clock.spans_moving}) {
    *field = reader.NextInteger<int>();
  }
  clock.limits = absl::StrSplit(reader.NextEscaped(), ';', absl::SkipEmpty());
  reader.Require(IsClock(clock));
}

CandidateMeasurement ReadCandidate(FieldReader& reader) {
  CandidateMeasurement measurement;
  measurement.candidate = reader.NextEscaped();
  reader.NextSamples(measurement);
  measurement.load_ms = reader.NextDoubles();
  Equivalence& equivalence = measurement.equivalence;
  equivalence.verdict = reader.NextVerdict();
  equivalence.max_abs_error = reader.NextDouble();
  equivalence.max_rel_error = reader.NextDouble();
  equivalence.max_channel_error = reader.NextDouble();
  equivalence.inputs_tried = reader.NextInteger<int>();
  equivalence.dead_outputs = reader.NextInteger<int>() != 0;
  equivalence.outputs = reader.NextOutputs();
  measurement.fallback_nodes = reader.NextInteger<int>();
  measurement.error = reader.NextEscaped();
  if (reader.HasNext()) equivalence.exact_ratio = reader.NextDouble();
  if (reader.HasNext()) measurement.step_variants = absl::StrSplit(reader.NextEscaped(), '\n');
  if (reader.HasNext()) ReadClock(reader, measurement);
  return measurement;
}

ErrorMeasurement ReadStepErrors(FieldReader& reader) {
  ErrorMeasurement measurement;
  measurement.candidate = reader.NextEscaped();
  measurement.steps = reader.NextSteps();
  measurement.errors = reader.NextLayerErrors();
  reader.Require(measurement.errors.empty() ||
                 measurement.errors.size() == measurement.steps.size());
  return measurement;
}

Rehearsal ReadRehearsal(FieldReader& reader) {
  Rehearsal rehearsal;
  rehearsal.candidates = absl::StrSplit(reader.Next(), ',');
  rehearsal.step_us = reader.NextStepTimes();
  reader.Require(rehearsal.step_us.size() == rehearsal.candidates.size());
  return rehearsal;
}

RuntimeMeasurement ReadRuntime(FieldReader& reader) {
  RuntimeMeasurement measurement;
  measurement.runtime = reader.NextEscaped();
  measurement.version = reader.NextEscaped();
  measurement.options = reader.NextEscaped();
  measurement.threads = reader.NextInteger<int>();
  return measurement;
}

}  // namespace

absl::StatusOr<MeasurementLog> MeasurementLog::Parse(absl::string_view text) {
  MeasurementLog log;
  int64_t candidates_left = 0;
  bool is_of_runtime = false;  // whose the candidate lines are
  int line_number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    ++line_number;
    const auto wrong = [&](absl::string_view what) {
      return absl::InvalidArgumentError(
          absl::StrCat("measurement log line ", line_number, ": ", what));
    };
    if (line_number == 1) {
      if (line != kMeasurementLogHeader)
        return wrong(absl::StrCat("expected \"", kMeasurementLogHeader, "\""));
      continue;
    }
    FieldReader reader(line);
    const absl::string_view record = reader.Next();
    if ((candidates_left > 0) != (record == "candidate")) {
      return wrong("a verification, as a runtime, is followed by exactly its candidates");
    }
    if (record == "profile") {
      ReadProfile(reader, log);
    } else if (record == "verification") {
      candidates_left = reader.NextInteger<int64_t>();
      is_of_runtime = false;
      log.verifications_.emplace_back();
    } else if (record == "runtime") {
      log.runtime_measurements_.push_back(ReadRuntime(reader));
      candidates_left = reader.NextInteger<int64_t>();
      is_of_runtime = true;
    } else if (record == "candidate") {
      auto& candidates =
          is_of_runtime ? log.runtime_measurements_.back().models : log.verifications_.back();
      candidates.push_back(ReadCandidate(reader));
      --candidates_left;
    } else if (record == "step_errors") {
      log.error_measurements_.push_back(ReadStepErrors(reader));
    } else if (record == "rehearsal") {
      log.rehearsals_.push_back(ReadRehearsal(reader));
    } else if (record == "exhausted_at_step") {
      log.exhausted_at_step_ = reader.NextInteger<int64_t>();
    } else if (record == "time_answers") {
      for (const char answer : reader.Next()) {
        reader.Require(answer == '0' || answer == '1');
        log.time_answers_.push_back(answer == '1');
      }
    } else if (record == "yardsticks") {
      log.yardsticks_ = reader.NextYardsticks();
    } else if (record == "load_effect") {
      log.load_effect_.deviation = reader.NextDouble();
      log.load_effect_.loads = reader.NextInteger<int>();
      reader.Require(log.load_effect_.deviation >= 0 && log.load_effect_.deviation < 1 &&
                     log.load_effect_.loads >= 0);
    } else {
      return wrong("unknown record");
    }
    if (!reader.Finished()) return wrong("wrong fields");
  }
  if (line_number == 0 || candidates_left != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("measurement log line ", line_number, ": the log is cut off"));
  }
  return log;
}

}  // namespace plait
