#include "base/status_macros.h"
#include "client/command.h"
#include "client/files/file.h"
#include "client/job_result.h"
#include "client/server_session.h"

// For scripts: as optimize, for a job that is over; it does not wait. 2 while the job is queued or
// running, so that a loop can tell "not yet" (reason WRONG_STATE with --json) from "failed".

namespace plait {
namespace {

std::vector<OptionSpec> OptionsOfResult() {
  std::vector<OptionSpec> options = {
      {"--output", OptionKind::kText, "FILE", "the optimized model; default: ID.onnx", "-o"},
      {"--explain", OptionKind::kSwitch, "", "tell each rule's law and what the search decided"}};
  AddServerOptions(&options);
  return options;
}

absl::StatusOr<ExitCode> RunResult(const CommandContext& context) {
  const std::string id = context.arguments.positionals()[0];
  const std::string path = context.arguments.Text("--output", id + ".onnx");
  PLAIT_RETURN_IF_ERROR(CheckWritable(path));
  PLAIT_ASSIGN_OR_RETURN(const ServerSession session, ConnectToServer(context));
  PLAIT_ASSIGN_OR_RETURN(const v1::Job job, session.client->GetJob(id));
  PLAIT_RETURN_IF_ERROR(CheckOver(job));
  return DeliverResult(context, *session.client, job, path);
}

}  // namespace

const Command kResultCommand = {
    .name = "result",
    .positionals = "ID",
    .summary = "fetch what a job has made",
    .examples =
        "  plait result $ID -o faster.onnx --server plait.example.com:7400\n"
        "  plait result $ID -o faster.onnx --json\n",
    .options = OptionsOfResult,
    .run = RunResult,
};

}  // namespace plait
