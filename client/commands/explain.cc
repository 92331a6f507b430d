#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "client/command.h"
#include "client/explained_job.h"
#include "client/explained_plan.h"
#include "client/explained_rules.h"
#include "client/json.h"
#include "client/loaded_model.h"
#include "client/report_table.h"
#include "client/server_session.h"
#include "proto/wire/report_json.h"

// For scripts: exit code 0 says that every kernel was timed, or, with --rule, that the rules were
// asked: then nothing runs, and there are no steps. A job is explained by its report, and by what
// its model does here. With --json all steps are printed, in launch order, unless --node asks for
// some.

namespace plait {
namespace {

constexpr double kExplainSecondsDefault = 10;
constexpr int64_t kExplainTopDefault = 20;
// Of rewrites whose gain is predicted: some seconds for a model of a thousand kernels.
constexpr int kPricedMax = 32;

std::vector<OptionSpec> OptionsOfExplain() {
  std::vector<OptionSpec> options;
  AddLoadingOptions(&options);
  AddServerOptions(&options);
  options.push_back(kIgnorePlanOption);
  options.push_back(kRequirePlanOption);
  options.push_back({"--node", OptionKind::kText, "NAME",
                     "only kernels that run this node, and what rules say of it"});
  options.push_back({"--rule", OptionKind::kText, "RULE",
                     "where this rule applies, or nearly does and why not; all: every rule"});
  options.push_back({"--top", OptionKind::kInteger, "N",
                     "kernels in the table, the slowest first; 0: all in their order; default 20"});
  options.push_back({"--budget", OptionKind::kSeconds, "TIME", "stop after this; default 10s"});
  options.push_back({"--seed", OptionKind::kInteger, "N", "of the inputs; default 0"});
  return options;
}

// What --rule and --node ask for.
struct AskedRules {
  std::vector<const Rule*> rules;
  std::vector<ExplainedRule> answers;
};

absl::StatusOr<AskedRules> Ask(const Arguments& arguments, const LoadedModel& model,
                               const DeviceDescription& device) {
  AskedRules asked;
  PLAIT_ASSIGN_OR_RETURN(asked.rules, RulesNamed(arguments.Text("--rule")));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<AskedGraph> graphs,
                         AskedGraphs(model, LoadingOptions(arguments).shapes));
  asked.answers = ExplainRules(graphs, asked.rules, arguments.Text("--node"));
  PriceRules(graphs, device, kPricedMax, &asked.answers);
  return asked;
}

// What is explained: a model, and the report of the job that made it, if there is one.
struct Explained {
  const std::string& name;  // as it was asked for
  const LoadedModel& model;
  const std::optional<ExplainedJob>& job;
};

// What was asked about a model, as far as it is known.
Json ExplainedModelJson(const Explained& explained, const DeviceDescription& device) {
  const LoadedModel& model = explained.model;
  Json json;
  json["schema_version"] = 1;
  json["path"] = explained.name;
  json["device"] = {{"id", device.id}, {"name", device.name}, {"fingerprint", device.fingerprint}};
  json["plan"] = PlanChoiceJson(model);
  json["threads"] = model.plan.threads;
  json["streams"] = model.plan.streams;
  if (explained.job.has_value()) {
    json["job"] = wire::ReportJson(explained.job->report, /*with_trace=*/true);
  }
  return json;
}

absl::StatusOr<ExitCode> TellRules(const CommandContext& context, const Explained& explained,
                                   const DeviceDescription& device) {
  PLAIT_ASSIGN_OR_RETURN(const AskedRules asked, Ask(context.arguments, explained.model, device));
  if (context.console.json) {
    Json json = ExplainedModelJson(explained, device);
    json["rules"] = RulesJson(asked.answers);
    context.console.out << JsonText(json);
    return ExitCode::kOk;
  }
  const auto top = static_cast<size_t>(context.arguments.Integer("--top", kExplainTopDefault));
  context.console.out << RulesText(asked.answers, asked.rules, top);
  return ExitCode::kOk;
}

absl::StatusOr<std::vector<ExplainedStep>> TimedSteps(const Arguments& arguments,
                                                      const LoadedModel& model,
                                                      Executor& executor) {
  StepTimesOptions timing;
  timing.time_max = absl::Seconds(arguments.Seconds("--budget", kExplainSecondsDefault));
  timing.seed = static_cast<uint64_t>(arguments.Integer("--seed"));
  return ExplainModel(model, executor, timing);
}

absl::StatusOr<ExitCode> TellSteps(const CommandContext& context, const Explained& explained,
                                   Executor& executor) {
  const Arguments& arguments = context.arguments;
  const LoadedModel& model = explained.model;
  PLAIT_ASSIGN_OR_RETURN(std::vector<ExplainedStep> steps, TimedSteps(arguments, model, executor));
  const double all_us = SumUs(steps);
  AskedRules asked;
  if (arguments.Has("--node")) {
    const std::string name = arguments.Text("--node");
    steps = StepsWithNode(steps, name);
    PLAIT_ASSIGN_OR_RETURN(asked, Ask(arguments, model, executor.device()));
    if (steps.empty() && asked.answers.empty()) {
      return absl::NotFoundError(absl::StrCat(explained.name, " runs no node \"", name,
                                              "\" (rewrites give nodes other names; plait explain ",
                                              explained.name, " --top 0 lists those there are)"));
    }
  }
  const auto top = static_cast<size_t>(arguments.Integer("--top", kExplainTopDefault));
  if (context.console.json) {
    Json json = ExplainedModelJson(explained, executor.device());
    json["us"] = all_us;
    json["families"] = FamiliesJson(steps);
    json["steps"] = StepsJson(steps);
    if (arguments.Has("--node")) json["rules"] = RulesJson(asked.answers);
    context.console.out << JsonText(json);
    return ExitCode::kOk;
  }
  if (explained.job.has_value()) {
    context.console.out << ReportTable(explained.job->report, /*explain=*/true) << "\n";
  }
  context.console.out << absl::StrFormat(
                             "%d kernels on %d threads and %d streams, %.1f us one after the "
                             "other\n\n",
                             model.plan.steps.size(), model.plan.threads, model.plan.streams,
                             all_us)
                      << FamiliesTable(steps) << "\n"
                      << StepsTable(steps, top);
  if (arguments.Has("--node")) {
    context.console.out << "\n" << RulesText(asked.answers, asked.rules, top);
  }
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> RunExplain(const CommandContext& context) {
  const Arguments& arguments = context.arguments;
  // Before a model is read: a name with a typing error costs nothing.
  PLAIT_RETURN_IF_ERROR(RulesNamed(arguments.Text("--rule")).status());
  const std::string& name = arguments.positionals()[0];
  std::optional<ExplainedJob> job;
  if (NamesJob(name)) {
    PLAIT_ASSIGN_OR_RETURN(job, FetchJob(context, name));
  }
  PLAIT_ASSIGN_OR_RETURN(const std::unique_ptr<Executor> executor,
                         OpenDevice(arguments, /*pins_threads=*/true));
  LoadOptions loading = LoadingOptions(arguments);
  // No kernel is timed: one plan is as good as another.
  if (arguments.Has("--rule")) loading.without_plan = PlanWithout::kPredictedBaseline;
  loading.name = name;
  std::vector<std::string> warnings;
  PLAIT_ASSIGN_OR_RETURN(const LoadedModel model, LoadModel(job.has_value() ? job->path : name,
                                                            loading, *executor, &warnings));
  PrintWarnings(context.console, warnings);
  const Explained explained = {name, model, job};
  if (arguments.Has("--rule")) return TellRules(context, explained, executor->device());
  return TellSteps(context, explained, *executor);
}

}  // namespace

const Command kExplainCommand = {
    .name = "explain",
    .positionals = "MODEL|ID",
    .summary = "say by which kernels a model runs, or what a job made, and which rules apply",
    .examples =
        "  plait explain faster.onnx\n"
        "  plait explain faster.onnx --node /features/features.0/Conv\n"
        "  plait explain faster.onnx --top 0 --threads 1\n"
        "  plait explain model.onnx --rule merge_convs\n"
        "  plait explain model.onnx --ignore-plan --json\n"
        "  plait explain $ID --server plait.example.com:7400\n"
        "  plait explain $ID --node /features/features.0/Conv --json\n",
    .options = OptionsOfExplain,
    .run = RunExplain,
};

}  // namespace plait
