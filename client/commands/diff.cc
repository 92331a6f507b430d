#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "client/command.h"
#include "client/explained_plan.h"
#include "client/json.h"
#include "client/loaded_model.h"
#include "client/plan_diff.h"

// For scripts: exit code 0 says that both models were timed kernel by kernel, not that they differ.

namespace plait {
namespace {

constexpr double kDiffSecondsDefault = 20;
constexpr int64_t kDiffTopDefault = 20;

std::vector<OptionSpec> OptionsOfDiff() {
  std::vector<OptionSpec> options;
  AddLoadingOptions(&options);
  options.push_back(
      {"--ignore-plan", OptionKind::kSwitch, "", "do not use the plan inside the first model"});
  options.push_back({"--top", OptionKind::kInteger, "N",
                     "lines, that which gained or lost most first; 0: all; default 20"});
  options.push_back({"--budget", OptionKind::kSeconds, "TIME", "stop after this; default 20s"});
  options.push_back({"--seed", OptionKind::kInteger, "N", "of the inputs; default 0"});
  return options;
}

absl::StatusOr<ExitCode> RunDiff(const CommandContext& context) {
  const Arguments& arguments = context.arguments;
  PLAIT_ASSIGN_OR_RETURN(const std::unique_ptr<Executor> executor,
                         OpenDevice(arguments, /*pins_threads=*/true));
  StepTimesOptions timing;
  timing.time_max = absl::Seconds(arguments.Seconds("--budget", kDiffSecondsDefault) / 2);
  timing.seed = static_cast<uint64_t>(arguments.Integer("--seed"));
  const std::unique_ptr<LocalProfiles> profiles = MakeProfiles(*executor);
  LoadOptions loading = LoadingOptions(arguments);
  loading.profiles = profiles.get();
  std::vector<LoadOptions> of_both(2, loading);
  // So that one file shows what its plan gains.
  of_both[1].ignore_plan = false;
  std::vector<std::string> warnings;
  PLAIT_ASSIGN_OR_RETURN(const std::vector<LoadedModel> models,
                         LoadModels(arguments.positionals(), of_both, *executor, &warnings));
  PrintWarnings(context.console, warnings);
  std::vector<std::vector<ExplainedStep>> steps;
  for (const LoadedModel& model : models) {
    PLAIT_ASSIGN_OR_RETURN(steps.emplace_back(), ExplainModel(model, *executor, timing));
  }
  const std::vector<MatchedSteps> matches = MatchSteps(steps[0], steps[1]);
  if (context.console.json) {
    Json json;
    json["schema_version"] = 1;
    json["before"] = {{"path", arguments.positionals()[0]},
                      {"kernels", steps[0].size()},
                      {"us", SumUs(steps[0])}};
    json["after"] = {{"path", arguments.positionals()[1]},
                     {"kernels", steps[1].size()},
                     {"us", SumUs(steps[1])}};
    json["matches"] = DiffJson(matches);
    context.console.out << JsonText(json);
    return ExitCode::kOk;
  }
  const auto top = static_cast<size_t>(arguments.Integer("--top", kDiffTopDefault));
  context.console.out << absl::StrFormat("%d kernels, %.1f us -> %d kernels, %.1f us\n\n",
                                         steps[0].size(), SumUs(steps[0]), steps[1].size(),
                                         SumUs(steps[1]))
                      << DiffTable(matches, top);
  return ExitCode::kOk;
}

}  // namespace

const Command kDiffCommand = {
    .name = "diff",
    .positionals = "MODEL MODEL2",
    .summary = "say by which kernels two models differ, and what that gains or costs",
    .examples =
        "  plait diff model.onnx faster.onnx\n"
        "  plait diff yesterday.onnx today.onnx --top 0\n"
        "  plait diff faster.onnx faster.onnx --ignore-plan --json\n",
    .options = OptionsOfDiff,
    .run = RunDiff,
};

}  // namespace plait
