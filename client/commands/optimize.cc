#include <filesystem>

#include "base/status_macros.h"
#include "client/command.h"
#include "client/files/file.h"
#include "client/input_sets.h"
#include "client/job_request.h"
#include "client/job_result.h"
#include "client/json.h"
#include "client/server_session.h"

// For scripts: 0 says that the optimized model lies at the output path; only then its report is on
// stdout. Progress and warnings are on stderr. A job that ends otherwise gives the code of its
// reason, and stderr says so if its best result so far was written nevertheless. Ctrl-C cancels the
// job: 7.

namespace plait {
namespace {

std::vector<OptionSpec> OptionsOfOptimize() {
  std::vector<OptionSpec> options = {{"--output", OptionKind::kText, "FILE",
                                      "the optimized model; default: MODEL.optimized.onnx", "-o"}};
  AddJobOptions(&options);
  options.push_back(
      {"--explain", OptionKind::kSwitch, "", "tell each rule's law and what the search decided"});
  options.push_back({"--events", OptionKind::kSwitch, "",
                     "print each event of the job on standard error, as watch --json does"});
  options.push_back({"--validate-only", OptionKind::kSwitch, "", "check the request, do nothing"});
  AddServerOptions(&options);
  AddEmbeddedOptions(&options);
  return options;
}

// "dir/model.onnx" -> "dir/model.optimized.onnx"
std::string OutputPath(const CommandContext& context) {
  std::filesystem::path model = context.arguments.positionals()[0];
  return context.arguments.Text("--output", model.replace_extension(".optimized.onnx").string());
}

absl::StatusOr<ExitCode> RunOptimize(const CommandContext& context) {
  const Arguments& arguments = context.arguments;
  v1::OptimizeModelRequest request;
  PLAIT_ASSIGN_OR_RETURN(*request.mutable_options(), JobOptions(arguments));
  request.set_validate_only(arguments.Has("--validate-only"));
  // Read before a server is started or asked: a path with a typing error costs nothing.
  PLAIT_ASSIGN_OR_RETURN(const std::string model, ReadModelFile(arguments.positionals()[0]));
  if (!request.validate_only()) PLAIT_RETURN_IF_ERROR(CheckWritable(OutputPath(context)));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs,
                         ReadInputSets(arguments, model, request));
  PLAIT_ASSIGN_OR_RETURN(
      const ServerSession session,
      ConnectOrEmbed(context, request.options().device(), request.options().threads()));
  const Client& client = *session.client;
  PLAIT_RETURN_IF_ERROR(UploadBlobs(client, model, inputs, request));
  if (request.validate_only()) {
    PLAIT_RETURN_IF_ERROR(client.Submit(request).status());
    Json json;
    json["valid"] = true;
    context.console.out << (context.console.json ? JsonText(json) : "the request is valid\n");
    return ExitCode::kOk;
  }
  PLAIT_ASSIGN_OR_RETURN(const v1::Job job, RunJob(context, client, request));
  return DeliverResult(context, client, job, OutputPath(context));
}

}  // namespace

const Command kOptimizeCommand = {
    .name = "optimize",
    .positionals = "MODEL",
    .summary = "make a model faster; without --server on this machine",
    .examples =
        "  plait optimize model.onnx -o faster.onnx\n"
        "  plait optimize model.onnx --budget 5m --json > report.json\n"
        "  plait optimize model.onnx --shape input=8x3x224x224 --threads 2\n"
        "  plait optimize model.onnx --inputs samples/1 --inputs samples/2\n"
        "  plait optimize model.onnx --server plait.example.com:7400\n",
    .options = OptionsOfOptimize,
    .run = RunOptimize,
};

}  // namespace plait
