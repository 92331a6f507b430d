#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "client/command.h"
#include "client/explained_plan.h"
#include "client/json.h"
#include "client/loaded_model.h"

// For scripts: exit code 0 says that every kernel was timed. With --json all steps are printed, in
// launch order, unless --node asks for some.

namespace plait {
namespace {

constexpr double kBudgetSecondsDefault = 10;
constexpr int64_t kTopDefault = 20;

std::vector<OptionSpec> Options() {
  std::vector<OptionSpec> options;
  AddLoadingOptions(&options);
  options.push_back(kIgnorePlanOption);
  options.push_back(kRequirePlanOption);
  options.push_back({"--node", OptionKind::kText, "NAME", "only kernels that run this node"});
  options.push_back({"--top", OptionKind::kInteger, "N",
                     "kernels in the table, the slowest first; 0: all in their order; default 20"});
  options.push_back({"--budget", OptionKind::kSeconds, "TIME", "stop after this; default 10s"});
  options.push_back({"--seed", OptionKind::kInteger, "N", "of the inputs; default 0"});
  return options;
}

absl::StatusOr<ExitCode> RunExplain(const CommandContext& context) {
  const Arguments& arguments = context.arguments;
  const std::string& path = arguments.positionals()[0];
  PLAIT_ASSIGN_OR_RETURN(const std::unique_ptr<Executor> executor,
                         OpenDevice(arguments, /*pins_threads=*/true));
  std::vector<std::string> warnings;
  PLAIT_ASSIGN_OR_RETURN(const LoadedModel model,
                         LoadModel(path, LoadingOptions(arguments), *executor, &warnings));
  for (const std::string& warning : warnings) context.console.err << "warning: " << warning << "\n";
  StepTimesOptions timing;
  timing.time_max = absl::Seconds(arguments.Seconds("--budget", kBudgetSecondsDefault));
  timing.seed = static_cast<uint64_t>(arguments.Integer("--seed"));
  PLAIT_ASSIGN_OR_RETURN(std::vector<ExplainedStep> steps, ExplainModel(model, *executor, timing));
  const double all_us = SumUs(steps);
  if (arguments.Has("--node")) {
    const std::string name = arguments.Text("--node");
    steps = StepsWithNode(steps, name);
    if (steps.empty()) {
      return absl::NotFoundError(absl::StrCat(path, " runs no node \"", name,
                                              "\" (rewrites give nodes other names; plait explain ",
                                              path, " --top 0 lists those there are)"));
    }
  }
  Json json;
  json["schema_version"] = 1;
  json["path"] = path;
  json["device"] = {{"id", executor->device().id},
                    {"name", executor->device().name},
                    {"fingerprint", executor->device().fingerprint}};
  json["plan"] = PlanChoiceJson(model);
  json["threads"] = model.plan.threads;
  json["streams"] = model.plan.streams;
  json["us"] = all_us;
  json["families"] = FamiliesJson(steps);
  json["steps"] = StepsJson(steps);
  if (context.console.json) {
    context.console.out << JsonText(json);
    return ExitCode::kOk;
  }
  const auto top = static_cast<size_t>(arguments.Integer("--top", kTopDefault));
  context.console.out << absl::StrFormat(
                             "%d kernels on %d threads and %d streams, %.1f us one after the "
                             "other\n\n",
                             model.plan.steps.size(), model.plan.threads, model.plan.streams,
                             all_us)
                      << FamiliesTable(steps) << "\n"
                      << StepsTable(steps, top);
  return ExitCode::kOk;
}

}  // namespace

const Command kExplainCommand = {
    .name = "explain",
    .positionals = "MODEL",
    .summary = "say by which kernels a model runs, and what each of them takes",
    .examples =
        "  plait explain faster.onnx\n"
        "  plait explain faster.onnx --node /features/features.0/Conv\n"
        "  plait explain faster.onnx --top 0 --threads 1\n"
        "  plait explain model.onnx --ignore-plan --json\n",
    .options = Options,
    .run = RunExplain,
};

}  // namespace plait
