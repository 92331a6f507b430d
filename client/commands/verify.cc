#include <algorithm>
#include <optional>

#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "client/command.h"
#include "client/files/tensor_folder.h"
#include "client/json.h"
#include "client/loaded_model.h"
#include "gpu_worker/executor/compare_outputs.h"
#include "gpu_worker/executor/exact_errors.h"
#include "gpu_worker/executor/make_inputs.h"
#include "optimizer/ops/evaluation/evaluate.h"

// For scripts: the verdict is the exit code. 0: equivalent; 12: different; 5: inconclusive; all
// else means that no comparison took place. The verdict and the errors found are on stdout, a
// reason, where there is one, on stderr.

namespace plait {
namespace {

constexpr int kRandomInputsDefault = 4;
// Evaluating a network in float64 takes seconds to minutes.
constexpr int kExactInputsDefault = 1;
// As much as another order of sums may lose.
constexpr double kRmsRatioMax = 2;
// fp32 sums in another order differ by this much, relative to the largest output, at most.
constexpr double kRelErrorMaxDefault = 1e-4;

std::vector<OptionSpec> OptionsOfVerify() {
  std::vector<OptionSpec> options;
  AddLoadingOptions(&options);
  options.push_back({"--plan", OptionKind::kSwitch, "",
                     "run the plans inside the models where there are any, not their graphs"});
  options.push_back(
      {"--inputs", OptionKind::kText, "DIR", "also try input_<i>.pb (TensorProto) or <name>.npy"});
  options.push_back({"--random-inputs", OptionKind::kInteger, "N",
                     "random inputs to try; default 4, with --against 1"});
  options.push_back({"--seed", OptionKind::kInteger, "N", "of the random inputs; default 0"});
  options.push_back({"--max-rel-error", OptionKind::kNumber, "X",
                     "largest error that counts as equal; default 1e-4"});
  options.push_back({"--against", OptionKind::kText, "float64",
                     "what both lose of MODEL's exact outputs, computed in float64"});
  return options;
}

// The user's inputs, if any, and then random ones, one set at a time.
class Inputs {
 public:
  explicit Inputs(const Arguments& arguments)
      : folder_(arguments.Text("--inputs")),
        seed_(static_cast<uint64_t>(arguments.Integer("--seed"))),
        random_count_(static_cast<int>(std::clamp<int64_t>(
            arguments.Integer("--random-inputs", arguments.Has("--against") ? kExactInputsDefault
                                                                            : kRandomInputsDefault),
            0, 10'000))) {}

  int count() const { return random_count_ + (folder_.empty() ? 0 : 1); }

  // Drawn or read again for each model instead of being kept. Those of the first model are meant:
  // equal seeds, equal inputs.
  absl::StatusOr<std::vector<Tensor>> Get(const Graph& graph, int index) const {
    if (index == random_count_) return ReadInputs(folder_, graph);
    return MakeInputs(graph, seed_, index);
  }

 private:
  const std::string folder_;
  const uint64_t seed_;
  const int random_count_;
};

// Of both models, for each input.
struct Outputs {
  std::vector<std::vector<Tensor>> of_model[2];
};

// Runs both models on the same inputs; one is in memory at a time.
absl::StatusOr<Outputs> RunBoth(const Inputs& inputs, const std::vector<LoadedModel>& models,
                                Executor& executor) {
  Outputs outputs;
  for (size_t side = 0; side < 2; ++side) {
    const LoadedModel& model = models[side];
    PLAIT_ASSIGN_OR_RETURN(const auto executable, LoadOn(model, executor));
    for (int i = 0; i < inputs.count(); ++i) {
      PLAIT_ASSIGN_OR_RETURN(const auto values, inputs.Get(models[0].graph, i));
      absl::StatusOr<std::vector<Tensor>> result = executable->Run(values);
      if (!result.ok()) return Annotate(result.status(), model.path);
      outputs.of_model[side].push_back(*std::move(result));
    }
  }
  return outputs;
}

OutputComparison Compare(const Arguments& arguments, const Outputs& outputs) {
  OutputComparer comparer(arguments.Number("--max-rel-error", kRelErrorMaxDefault));
  for (size_t i = 0; i < outputs.of_model[0].size(); ++i) {
    comparer.Add(outputs.of_model[0][i], outputs.of_model[1][i]);
  }
  return comparer.Result();
}

// What both lose of what the first model's graph computes without rounding.
struct Losses {
  ExactErrors of_model[2];

  double rms_ratio() const { return RmsRatio(of_model[0].outputs(), of_model[1].outputs()); }
};

// REQUIRES: the outputs of both have equal types.
absl::StatusOr<Losses> FindLosses(const Inputs& inputs, const LoadedModel& model,
                                  const Outputs& outputs) {
  Losses losses;
  for (int i = 0; i < inputs.count(); ++i) {
    PLAIT_ASSIGN_OR_RETURN(const std::vector<Tensor> values, inputs.Get(model.graph, i));
    std::vector<EvalTensor> exact_inputs;
    for (const Tensor& value : values) exact_inputs.push_back(ToEvalTensor(value));
    PLAIT_ASSIGN_OR_RETURN(const std::vector<EvalTensor> exact,
                           EvaluateGraphUnrounded(model.graph, exact_inputs, *model.weights));
    for (int side = 0; side < 2; ++side) {
      losses.of_model[side].Add(exact, outputs.of_model[side][i]);
    }
  }
  return losses;
}

Json LossesJson(const std::vector<LoadedModel>& models, const Losses& losses) {
  Json json = Json::array();
  for (size_t side = 0; side < models.size(); ++side) {
    Json outputs = Json::array();
    const std::vector<OutputError>& errors = losses.of_model[side].outputs();
    for (size_t i = 0; i < errors.size(); ++i) {
      outputs.push_back({{"name", models[0].output_names[i]},
                         {"max_abs_error", errors[i].max_abs_error},
                         {"max_rel_error", errors[i].max_rel_error},
                         {"rms_error", errors[i].rms_error}});
    }
    json.push_back({{"path", models[side].path}, {"outputs", std::move(outputs)}});
  }
  return json;
}

std::string LossesText(const std::vector<LoadedModel>& models, const Losses& losses) {
  std::string text;
  for (size_t side = 0; side < models.size(); ++side) {
    const std::vector<OutputError>& errors = losses.of_model[side].outputs();
    for (size_t i = 0; i < errors.size(); ++i) {
      absl::StrAppendFormat(&text, "%s, %s: rms error %.3g, max rel error %.3g of float64\n",
                            models[side].path, models[0].output_names[i], errors[i].rms_error,
                            errors[i].max_rel_error);
    }
  }
  absl::StrAppendFormat(&text, "rms ratio %.3g\n", losses.rms_ratio());
  return text;
}

// A third code, so that a script does not take "could not tell" for either answer.
ExitCode VerifyExitCode(Verdict verdict) {
  switch (verdict) {
    case Verdict::kEquivalent:
      return ExitCode::kOk;
    case Verdict::kDifferent:
      return ExitCode::kNotEquivalent;
    default:
      return ExitCode::kInconclusive;
  }
}

absl::StatusOr<ExitCode> RunVerify(const CommandContext& context) {
  const Arguments& arguments = context.arguments;
  if (arguments.Text("--against", "float64") != "float64") {
    return absl::InvalidArgumentError("--against: only float64 is there to compare with");
  }
  const Inputs inputs(arguments);
  if (inputs.count() == 0) {
    return absl::InvalidArgumentError("--random-inputs 0: nothing to compare (give --inputs DIR)");
  }
  PLAIT_ASSIGN_OR_RETURN(const std::unique_ptr<Executor> executor, OpenDevice(arguments));
  LoadOptions loading = LoadingOptions(arguments);
  loading.without_plan = PlanWithout::kPredictedBaseline;
  loading.ignore_plan = !arguments.Has("--plan");
  loading.takes_parts = true;
  loading.inputs = arguments.Text("--inputs");
  std::vector<std::string> warnings;
  const std::vector<std::string>& paths = arguments.positionals();
  PLAIT_ASSIGN_OR_RETURN(
      const std::vector<LoadedModel> models,
      LoadModels(paths, std::vector<LoadOptions>(paths.size(), loading), *executor, &warnings));
  PrintWarnings(context.console, warnings);
  PLAIT_ASSIGN_OR_RETURN(const Outputs outputs, RunBoth(inputs, models, *executor));
  OutputComparison comparison = Compare(arguments, outputs);
  std::optional<Losses> losses;
  if (arguments.Has("--against") && comparison.equivalence.verdict != Verdict::kDifferent) {
    PLAIT_ASSIGN_OR_RETURN(losses, FindLosses(inputs, models[0], outputs));
    if (losses->rms_ratio() > kRmsRatioMax) {
      comparison.equivalence.verdict = Verdict::kDifferent;
      comparison.reason = absl::StrFormat("%s loses %.3g times as much of the exact outputs as %s",
                                          models[1].path, losses->rms_ratio(), models[0].path);
    }
  }
  const Equivalence& equivalence = comparison.equivalence;
  const std::string verdict(VerdictName(equivalence.verdict));
  if (context.console.json) {
    Json json;
    json["verdict"] = verdict;
    json["max_abs_error"] = equivalence.max_abs_error;
    json["max_rel_error"] = equivalence.max_rel_error;
    json["inputs_tried"] = equivalence.inputs_tried;
    if (losses.has_value()) {
      json["against"] = "float64";
      json["models"] = LossesJson(models, *losses);
      json["rms_ratio"] = losses->rms_ratio();
    }
    json["plans"] = Json::array();
    for (const LoadedModel& model : models) json["plans"].push_back(PlanChoiceJson(model));
    context.console.out << JsonText(json);
  } else {
    context.console.out << absl::StrFormat(
        "%s: max abs error %.3g, max rel error %.3g, %d inputs\n", verdict,
        equivalence.max_abs_error, equivalence.max_rel_error, equivalence.inputs_tried);
    if (losses.has_value()) context.console.out << LossesText(models, *losses);
  }
  if (!comparison.reason.empty()) context.console.err << comparison.reason << "\n";
  return VerifyExitCode(equivalence.verdict);
}

}  // namespace

const Command kVerifyCommand = {
    .name = "verify",
    .positionals = "MODEL MODEL2",
    .summary = "compare the outputs of two models on this machine",
    .examples =
        "  plait verify model.onnx faster.onnx\n"
        "  plait verify model.onnx faster.onnx --plan --inputs samples\n"
        "  plait verify model.onnx faster.onnx --random-inputs 10 --max-rel-error 1e-5 --json\n"
        "  plait verify model.onnx faster.onnx --plan --against float64\n",
    .options = OptionsOfVerify,
    .run = RunVerify,
};

}  // namespace plait
