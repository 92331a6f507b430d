#include "base/status_macros.h"
#include "client/command.h"
#include "client/files/file.h"
#include "client/input_sets.h"
#include "client/job_request.h"
#include "client/json.h"
#include "client/server_session.h"
#include "proto/wire/job_state.h"

// For scripts: without --json stdout is the job's id and nothing else, as for `id=$(plait submit
// model.onnx)`; 0 says that the job is queued and survives this program. With --request-id the
// command can be repeated after a failure without queueing a second job; the id with another
// request is 2.

namespace plait {
namespace {

std::vector<OptionSpec> OptionsOfSubmit() {
  std::vector<OptionSpec> options;
  AddJobOptions(&options);
  options.push_back({"--request-id", OptionKind::kText, "ID",
                     "makes repeating the command safe: the same id is the same job"});
  AddServerOptions(&options);
  return options;
}

absl::StatusOr<ExitCode> RunSubmit(const CommandContext& context) {
  v1::OptimizeModelRequest request;
  PLAIT_ASSIGN_OR_RETURN(*request.mutable_options(), JobOptions(context.arguments));
  request.set_request_id(context.arguments.Text("--request-id"));
  PLAIT_ASSIGN_OR_RETURN(const std::string model,
                         ReadModelFile(context.arguments.positionals()[0]));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<Tensor> inputs,
                         ReadInputSets(context.arguments, model, request));
  PLAIT_ASSIGN_OR_RETURN(const ServerSession session, ConnectToServer(context));
  PLAIT_RETURN_IF_ERROR(UploadBlobs(*session.client, model, inputs, request));
  PLAIT_ASSIGN_OR_RETURN(const v1::Job job, session.client->Submit(request));
  if (context.console.json) {
    Json json;
    json["id"] = job.id();
    json["state"] = wire::JobStateName(job.state());
    context.console.out << JsonText(json);
  } else {
    context.console.out << job.id() << "\n";
  }
  return ExitCode::kOk;
}

}  // namespace

const Command kSubmitCommand = {
    .name = "submit",
    .positionals = "MODEL",
    .summary = "queue a job on a server and print its id",
    .examples =
        "  plait submit model.onnx --server plait.example.com:7400\n"
        "  plait submit model.onnx --threads 4 --request-id build-1234 --json\n",
    .options = OptionsOfSubmit,
    .run = RunSubmit,
};

}  // namespace plait
