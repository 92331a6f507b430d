#include "base/status_macros.h"
#include "client/command.h"
#include "client/files/tensor_folder.h"
#include "client/json.h"
#include "client/loaded_model.h"
#include "gpu_worker/executor/make_inputs.h"

// For scripts: 0 says that the model ran and, with --outputs, that every file is written. Stdout
// has names, types and shapes of the outputs; their values go to files only. Neither or both of
// --inputs and --seed are 2; warnings are on stderr.

namespace plait {
namespace {

std::vector<OptionSpec> OptionsOfRun() {
  std::vector<OptionSpec> options = {
      {"--inputs", OptionKind::kText, "DIR", "input_<i>.pb (TensorProto) or <name>.npy"},
      {"--seed", OptionKind::kInteger, "N", "random inputs instead of --inputs"},
      {"--outputs", OptionKind::kText, "DIR", "where output_<i>.pb and <name>.npy are written"}};
  AddLoadingOptions(&options);
  options.push_back(kIgnorePlanOption);
  options.push_back(kRequirePlanOption);
  return options;
}

Json RunJson(const LoadedModel& model, absl::Span<const Tensor> outputs) {
  Json json;
  json["plan"] = PlanChoiceJson(model);
  json["outputs"] = Json::array();
  for (size_t i = 0; i < outputs.size(); ++i) {
    Json output;
    output["name"] = model.output_names[i];
    output["type"] = std::string(DataTypeName(outputs[i].type().dtype));
    output["shape"] = Json::array();
    for (const int64_t dim : outputs[i].type().shape) output["shape"].push_back(dim);
    json["outputs"].push_back(std::move(output));
  }
  return json;
}

absl::StatusOr<ExitCode> RunRun(const CommandContext& context) {
  const Arguments& arguments = context.arguments;
  // Random inputs are never a silent default: their outputs say nothing about the model.
  if (arguments.Has("--inputs") == arguments.Has("--seed")) {
    return absl::InvalidArgumentError("either --inputs DIR or --seed N is needed");
  }
  PLAIT_ASSIGN_OR_RETURN(const std::unique_ptr<Executor> executor, OpenDevice(arguments));
  LoadOptions loading = LoadingOptions(arguments);
  // One run does not repay measuring kernels.
  loading.without_plan = PlanWithout::kPredicted;
  loading.takes_parts = true;
  loading.inputs = arguments.Text("--inputs");
  std::vector<std::string> warnings;
  PLAIT_ASSIGN_OR_RETURN(const LoadedExecutable loaded,
                         LoadExecutable(arguments.positionals()[0], loading, *executor, &warnings));
  PrintWarnings(context.console, warnings);
  const Graph& graph = loaded.model.graph;
  absl::StatusOr<std::vector<Tensor>> inputs =
      arguments.Has("--inputs")
          ? ReadInputs(arguments.Text("--inputs"), graph)
          : MakeInputs(graph, static_cast<uint64_t>(arguments.Integer("--seed")));
  PLAIT_RETURN_IF_ERROR(inputs.status());
  PLAIT_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, loaded.executable->Run(*inputs));
  if (arguments.Has("--outputs")) {
    PLAIT_RETURN_IF_ERROR(
        WriteOutputs(arguments.Text("--outputs"), loaded.model.output_names, outputs));
  }
  if (context.console.json) {
    context.console.out << JsonText(RunJson(loaded.model, outputs));
    return ExitCode::kOk;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    context.console.out << loaded.model.output_names[i] << ": " << outputs[i].type().ToString()
                        << "\n";
  }
  return ExitCode::kOk;
}

}  // namespace

const Command kRunCommand = {
    .name = "run",
    .positionals = "MODEL",
    .summary = "run a model once on this machine",
    .examples =
        "  plait run model.onnx --inputs inputs --outputs outputs\n"
        "  plait run model.onnx --seed 1 --outputs outputs --device reference\n",
    .options = OptionsOfRun,
    .run = RunRun,
};

}  // namespace plait
