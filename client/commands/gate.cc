#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/clock.h"
#include "base/machine_cores.h"
#include "base/machine_memory.h"
#include "base/program_folder.h"
#include "base/status_macros.h"
#include "client/command.h"
#include "client/files/file.h"
#include "client/gate/gated_files.h"
#include "client/gate/measure_pairs.h"
#include "client/gate/outcome.h"
#include "client/gate/runtime_pairs.h"
#include "client/instruction_set_option.h"
#include "client/json.h"
#include "client/loaded_model.h"
#include "client/shape_option.h"

// For scripts: the verdict is the exit code. 0: the new model is surely not slower than allowed; 4:
// surely slower; 5: there was not enough time to tell; all else means that nothing was compared.
// The verdict and the numbers are on stdout, after they are in the files that were asked for.

namespace plait {
namespace {

constexpr double kRegressionDefault = 0.02;
constexpr double kGateSecondsDefault = 60;

// "2%" or "0.5%" as a part: 0.02 or 0.005. A bare number may mean either, and is refused.
bool ParsePerCent(absl::string_view text, double* part) {
  double number = 0;
  if (!absl::ConsumeSuffix(&text, "%") || !absl::SimpleAtod(text, &number)) return false;
  *part = number / 100;
  return number >= 0 && number <= 1000;
}

absl::string_view ExpectedPerCent(absl::string_view value) {
  double part = 0;
  return ParsePerCent(value, &part) ? "" : "a part in per cent, 0% to 1000%, such as 2%";
}

constexpr absl::string_view kPlait = "plait";

// Those that plait_runtime_worker drives.
absl::string_view ExpectedRuntime(absl::string_view value) {
  const bool is_known = value == kPlait || value == "onnxruntime" || value == "openvino";
  return is_known ? "" : "one of plait, onnxruntime, openvino";
}

std::vector<OptionSpec> OptionsOfGate() {
  std::vector<OptionSpec> options;
  options.push_back({"--max-regression", OptionKind::kText, "P%",
                     "how much more time the new model may take; default 2%", "", ExpectedPerCent});
  options.push_back({"--runtime", OptionKind::kText, "NAME",
                     "what runs the models: plait (default), onnxruntime or openvino", "",
                     ExpectedRuntime});
  AddLoadingOptions(&options);
  options.push_back(kIgnorePlanOption);
  options.push_back(kRequirePlanOption);
  options.push_back(
      {"--budget", OptionKind::kSeconds, "TIME", "how long all of it may take; default 60s"});
  options.push_back({"--seed", OptionKind::kInteger, "N", "of the inputs; default 0"});
  options.push_back({"--junit", OptionKind::kText, "FILE", "write the verdict as JUnit XML"});
  options.push_back({"--markdown", OptionKind::kText, "FILE",
                     "append the verdict as Markdown, as to $GITHUB_STEP_SUMMARY"});
  return options;
}

ExitCode GateExitCode(GateVerdict verdict) {
  switch (verdict) {
    case GateVerdict::kPass:
      return ExitCode::kOk;
    case GateVerdict::kFail:
      return ExitCode::kGateFailed;
    default:
      return ExitCode::kInconclusive;
  }
}

GateOptions OptionsOfTest(const Arguments& arguments) {
  GateOptions options;
  options.max_regression = kRegressionDefault;
  if (arguments.Has("--max-regression")) {
    // Checked by ExpectedPerCent when the command line was parsed.
    ParsePerCent(arguments.Text("--max-regression"), &options.max_regression);
  }
  options.time_max = absl::Seconds(arguments.Seconds("--budget", kGateSecondsDefault));
  return options;
}

// What runs the models is no device of plait's, and reads no plans.
absl::Status CheckRuntimeOptions(const Arguments& arguments) {
  for (const absl::string_view option : {absl::string_view("--device"), kInstructionSetOption.name,
                                         kIgnorePlanOption.name, kRequirePlanOption.name}) {
    if (!arguments.Has(option) || arguments.Text(option) == "cpu") continue;
    return absl::InvalidArgumentError(absl::StrCat(option, ": is for --runtime plait"));
  }
  return CheckThreads(arguments, "cpu", MachineCores());
}

absl::StatusOr<GateReport> MeasureInRuntime(const CommandContext& context) {
  const Arguments& arguments = context.arguments;
  PLAIT_RETURN_IF_ERROR(CheckRuntimeOptions(arguments));
  Clock& clock = SystemClock();
  const absl::Duration start = clock.Monotonic();
  const std::vector<std::string>& paths = arguments.positionals();
  GateReport report = {{.path = paths[0]}, {.path = paths[1]}};
  report.options = OptionsOfTest(arguments);
  report.runtime = arguments.Text("--runtime");
  std::unique_ptr<RuntimePairs> pairs;
  {
    std::vector<std::string> warnings;
    PLAIT_ASSIGN_OR_RETURN(
        const std::vector<GatedFile> files,
        ReadGatedFiles(paths, NamedShapes(arguments),
                       static_cast<uint64_t>(arguments.Integer("--seed")), &warnings));
    PrintWarnings(context.console, warnings);
    const auto threads = static_cast<int>(arguments.Integer("--threads"));
    const RuntimeOptions options = {report.runtime, context.environment.runtimes_python,
                                    PythonPackagesOf(context.environment.program_folder),
                                    threads > 0 ? threads : MachineCores(),
                                    MachineMemoryBytes() / 4 * 3};
    PLAIT_ASSIGN_OR_RETURN(pairs, RuntimePairs::Start(options, files[0], files[1]));
  }
  report.device = pairs->device();
  report.runtime_settings = pairs->settings();
  report.options.time_max -= clock.Monotonic() - start;
  PLAIT_ASSIGN_OR_RETURN(report.outcome, DecideGate(*pairs, clock, report.options));
  return report;
}

absl::StatusOr<GateReport> MeasureInPlait(const CommandContext& context) {
  const Arguments& arguments = context.arguments;
  Clock& clock = SystemClock();
  const absl::Duration start = clock.Monotonic();
  PLAIT_ASSIGN_OR_RETURN(const std::unique_ptr<Executor> executor, OpenTimedDevice(arguments));
  LoadOptions loading = LoadingOptions(arguments);
  // Kernels that were chosen twice may differ, and with them the times of models that do not.
  const std::unique_ptr<LocalProfiles> profiles = MakeProfiles(*executor);
  loading.profiles = profiles.get();
  loading.takes_parts = true;
  std::vector<std::string> warnings;
  const std::vector<std::string>& paths = arguments.positionals();
  PLAIT_ASSIGN_OR_RETURN(
      const std::vector<LoadedModel> models,
      LoadModels(paths, std::vector<LoadOptions>(paths.size(), loading), *executor, &warnings));
  PrintWarnings(context.console, warnings);
  const auto gated = [](const LoadedModel& model) {
    return GatedModel{model.path, model.embedded_plan, PlanChoiceJson(model)};
  };
  GateReport report = {gated(models[0]), gated(models[1])};
  report.device = executor->device();
  report.options = OptionsOfTest(arguments);
  report.options.time_max -= clock.Monotonic() - start;
  const auto plan = [&](const LoadedModel& model) {
    return GatedPlan{model.graph, model.plan, *model.weights, LoaderOf(model, *executor)};
  };
  PairedPlans pairs(*executor, plan(models[0]), plan(models[1]),
                    static_cast<uint64_t>(arguments.Integer("--seed")));
  PLAIT_ASSIGN_OR_RETURN(report.outcome, DecideGate(pairs, clock, report.options));
  return report;
}

absl::StatusOr<ExitCode> RunGate(const CommandContext& context) {
  const std::string junit = context.arguments.Text("--junit");
  const std::string markdown = context.arguments.Text("--markdown");
  // Now, and not after a minute, whether they can be written.
  for (const std::string& path : {junit, markdown}) {
    if (!path.empty()) PLAIT_RETURN_IF_ERROR(AppendFile(path, ""));
  }
  const bool is_plaits = context.arguments.Text("--runtime", kPlait) == kPlait;
  const absl::StatusOr<GateReport> measured =
      is_plaits ? MeasureInPlait(context) : MeasureInRuntime(context);
  if (!measured.ok()) {
    // Else a runner would show what the last run had left there.
    const std::vector<std::string>& models = context.arguments.positionals();
    const std::string error = GateErrorJunit(models[0], models[1], measured.status().message());
    if (!junit.empty()) PLAIT_RETURN_IF_ERROR(WriteFile(junit, error));
    return measured.status();
  }
  const GateReport& report = *measured;
  if (!junit.empty()) PLAIT_RETURN_IF_ERROR(WriteFile(junit, GateJunit(report)));
  if (!markdown.empty()) PLAIT_RETURN_IF_ERROR(AppendFile(markdown, GateMarkdown(report)));
  context.console.out << (context.console.json ? JsonText(GateJson(report)) : GateTable(report));
  return GateExitCode(report.outcome.verdict);
}

}  // namespace

const Command kGateCommand = {
    .name = "gate",
    .positionals = "BASE NEW",
    .summary = "say whether a model has become slower than another",
    .examples =
        "  plait gate base.onnx new.onnx --max-regression 2%\n"
        "  plait gate base.onnx new.onnx --junit gate.xml --markdown \"$GITHUB_STEP_SUMMARY\"\n"
        "  plait gate base.onnx new.onnx --runtime onnxruntime\n"
        "  plait gate base.onnx new.onnx --max-regression 0.5% --budget 5m --json\n",
    .options = OptionsOfGate,
    .run = RunGate,
};

}  // namespace plait
