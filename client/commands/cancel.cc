#include "base/status_macros.h"
#include "client/command.h"
#include "client/json.h"
#include "client/server_session.h"
#include "proto/wire/job_state.h"

// For scripts: 0 says that the server has taken the request, not that the job has stopped. The
// state printed is the one right after it: RUNNING where the worker still has to stop, and what it
// was for a job that is over, which is no error. An unknown id is 2.

namespace plait {
namespace {

std::vector<OptionSpec> OptionsOfCancel() {
  std::vector<OptionSpec> options;
  AddServerOptions(&options);
  return options;
}

absl::StatusOr<ExitCode> RunCancel(const CommandContext& context) {
  PLAIT_ASSIGN_OR_RETURN(const ServerSession session, ConnectToServer(context));
  PLAIT_ASSIGN_OR_RETURN(const v1::Job job,
                         session.client->CancelJob(context.arguments.positionals()[0]));
  if (context.console.json) {
    Json json;
    json["id"] = job.id();
    json["state"] = wire::JobStateName(job.state());
    context.console.out << JsonText(json);
  } else {
    context.console.out << job.id() << " " << wire::JobStateName(job.state()) << "\n";
  }
  return ExitCode::kOk;
}

}  // namespace

const Command kCancelCommand = {
    .name = "cancel",
    .positionals = "ID",
    .summary = "stop a job",
    .examples = "  plait cancel $ID --server plait.example.com:7400\n",
    .options = OptionsOfCancel,
    .run = RunCancel,
};

}  // namespace plait
