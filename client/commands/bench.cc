#include <algorithm>
#include <limits>

#include "absl/strings/str_format.h"
#include "base/statistics.h"
#include "base/status_macros.h"
#include "client/command.h"
#include "client/json.h"
#include "client/loaded_model.h"
#include "gpu_worker/executor/measure_plans.h"
#include "optimizer/search/speedup.h"
#include "proto/wire/error.h"

// For scripts: exit code 0 says that every model was timed, not that one is faster than the other.
// The numbers are on stdout, after the last sample; warnings, as of an embedded plan that was not
// used, are on stderr. With --json "ratio" is null unless there are two models.

namespace plait {
namespace {

constexpr int kRoundsDefault = 50;
// Whatever the time: what fewer rounds, or those of one load, find may be chance.
constexpr int kRoundsMin = 15;
constexpr int kLoads = 2;
constexpr double kBenchSecondsDefault = 30;

std::vector<OptionSpec> OptionsOfBench() {
  std::vector<OptionSpec> options;
  AddLoadingOptions(&options);
  options.push_back(kIgnorePlanOption);
  options.push_back(kRequirePlanOption);
  options.push_back({"--rounds", OptionKind::kInteger, "N", "samples of each model; default 50"});
  options.push_back({"--budget", OptionKind::kSeconds, "TIME", "stop after this; default 30s"});
  options.push_back({"--seed", OptionKind::kInteger, "N", "of the inputs; default 0"});
  return options;
}

// The weights of several models, found by their digests.
// As one call measures them all, it sees one source; equal digests are equal weights.
class AllWeights : public WeightSource {
 public:
  explicit AllWeights(const std::vector<LoadedModel>& models) : models_(models) {}

  absl::StatusOr<Tensor> Get(const Digest& digest, const TensorType& type) const override {
    absl::StatusOr<Tensor> weight = absl::NotFoundError("no model was given");
    for (const LoadedModel& model : models_) {
      weight = model.weights->Get(digest, type);
      if (weight.ok()) break;
    }
    return weight;
  }

 private:
  const std::vector<LoadedModel>& models_;
};

Json BenchedModelJson(const LoadedModel& model, const CandidateMeasurement& measurement) {
  Json json;
  json["path"] = model.path;
  json["latency_us_median"] = Median(measurement.latency_us);
  json["latency_us_p10"] = Quantile(measurement.latency_us, 0.1);
  json["latency_us_p95"] = Quantile(measurement.latency_us, 0.95);
  json["samples"] = measurement.latency_us.size();
  json["embedded_plan"] = model.embedded_plan;
  json["plan"] = PlanChoiceJson(model);
  json["kernels"] = model.parts == nullptr ? model.plan.steps.size() : model.parts->kernels;
  json["fallback_nodes"] = measurement.fallback_nodes;
  return json;
}

std::string BenchTable(const Json& result) {
  std::string text =
      absl::StrFormat("%-40s %12s %12s %12s\n", "latency, us", "median", "p10", "p95");
  for (const Json& model : result["models"]) {
    text += absl::StrFormat("%-40s %12.1f %12.1f %12.1f\n", model.value("path", ""),
                            model.value("latency_us_median", 0.0),
                            model.value("latency_us_p10", 0.0), model.value("latency_us_p95", 0.0));
  }
  const Json& ratio = result["ratio"];
  if (ratio.is_null()) return text;
  return text + absl::StrFormat("the second is %.3f times as fast (95 %% interval %.3f to %.3f)\n",
                                ratio.value("median", 0.0), ratio.value("low", 0.0),
                                ratio.value("high", 0.0));
}

Json BenchJson(const Executor& executor, const std::vector<LoadedModel>& models,
               const std::vector<CandidateMeasurement>& measurements) {
  Json json;
  json["schema_version"] = 1;
  json["device"]["id"] = executor.device().id;
  json["device"]["name"] = executor.device().name;
  json["device"]["fingerprint"] = executor.device().fingerprint;
  json["models"] = Json::array();
  for (size_t i = 0; i < models.size(); ++i) {
    json["models"].push_back(BenchedModelJson(models[i], measurements[i]));
  }
  json["ratio"] = nullptr;
  if (models.size() == 2) {
    // Pairs are the samples of one round, so that a change of the clock speed meets both models.
    const Speedup ratio = EstimateSpeedup(
        {measurements[0].latency_us, measurements[1].latency_us, measurements[0].load_rounds}, {});
    json["ratio"] = {{"median", ratio.median}, {"low", ratio.low}, {"high", ratio.high}};
  }
  return json;
}

absl::StatusOr<ExitCode> RunBench(const CommandContext& context) {
  const Arguments& arguments = context.arguments;
  PLAIT_ASSIGN_OR_RETURN(const std::unique_ptr<Executor> executor, OpenTimedDevice(arguments));
  std::vector<std::string> warnings;
  LoadOptions loading = LoadingOptions(arguments);
  // Kernels that were chosen twice may differ, and with them the times of models that do not.
  const std::unique_ptr<LocalProfiles> profiles = MakeProfiles(*executor);
  loading.profiles = profiles.get();
  loading.takes_parts = true;
  const std::vector<std::string>& paths = arguments.positionals();
  PLAIT_ASSIGN_OR_RETURN(
      const std::vector<LoadedModel> models,
      LoadModels(paths, std::vector<LoadOptions>(paths.size(), loading), *executor, &warnings));
  PrintWarnings(context.console, warnings);
  std::vector<CandidatePlan> candidates;
  for (const LoadedModel& model : models) {
    candidates.push_back({&model.graph, &model.plan, LoaderOf(model, *executor)});
  }
  MeasureOptions measuring;
  // A round is one sample of every model, in turn.
  const int64_t rounds =
      std::clamp<int64_t>(arguments.Integer("--rounds", kRoundsDefault), 1, 1'000'000);
  measuring.loads = rounds == 1 ? 1 : kLoads;
  measuring.rounds = static_cast<int>((rounds + measuring.loads - 1) / measuring.loads);
  measuring.rounds_min = static_cast<int>(std::min<int64_t>(rounds, kRoundsMin));
  measuring.time_max = absl::Seconds(arguments.Seconds("--budget", kBenchSecondsDefault));
  measuring.seed = static_cast<uint64_t>(arguments.Integer("--seed"));
  // Comparing outputs is verify's business: a fast wrong model is timed, too.
  measuring.rel_error_max = std::numeric_limits<double>::infinity();
  PLAIT_ASSIGN_OR_RETURN(auto measured,
                         MeasurePlans(*executor, candidates, AllWeights(models), measuring));
  std::vector<CandidateMeasurement> measurements;
  for (size_t i = 0; i < models.size(); ++i) {
    if (!measured[i].ok()) return Annotate(measured[i].status(), models[i].path);
    measurements.push_back(*std::move(measured[i]));
  }
  const Json result = BenchJson(*executor, models, measurements);
  context.console.out << (context.console.json ? JsonText(result) : BenchTable(result));
  return ExitCode::kOk;
}

}  // namespace

const Command kBenchCommand = {
    .name = "bench",
    .positionals = "MODEL [MODEL2]",
    .summary = "time a model, or two side by side, on this machine",
    .examples =
        "  plait bench model.onnx\n"
        "  plait bench model.onnx faster.onnx --json\n"
        "  plait bench faster.onnx --ignore-plan --threads 1\n",
    .options = OptionsOfBench,
    .run = RunBench,
};

}  // namespace plait
