#include "base/status_macros.h"
#include "client/command.h"
#include "client/json.h"
#include "client/progress_bar.h"
#include "client/server_session.h"
#include "proto/wire/error.h"
#include "proto/wire/job_state.h"

// For scripts: the exit code is the job's: 0 when it succeeded, 7 when it was cancelled, 8 past its
// deadline, else the code of its reason. With --json each event is one line on stdout as it comes,
// so that a reader can resume by --after with the last sequence it has seen; without, progress is
// on stderr and the final state on stdout.

namespace plait {
namespace {

std::vector<OptionSpec> OptionsOfWatch() {
  std::vector<OptionSpec> options = {
      {"--after", OptionKind::kInteger, "N", "only events with a greater sequence"}};
  AddServerOptions(&options);
  return options;
}

// Watching changes nothing: Ctrl-C ends the program and the job goes on.
absl::StatusOr<ExitCode> RunWatch(const CommandContext& context) {
  Console& console = context.console;
  PLAIT_ASSIGN_OR_RETURN(const ServerSession session, ConnectToServer(context));
  ProgressBar bar(console.err, console.err_is_terminal);
  const auto show = [&](const v1::Event& event) {
    if (console.json) {
      console.out << JsonLine(EventJson(event)) << std::flush;
    } else {
      bar.Show(event);
    }
  };
  absl::StatusOr<v1::Job> job = session.client->Watch(context.arguments.positionals()[0],
                                                      context.arguments.Integer("--after"), show);
  bar.Clear();
  PLAIT_RETURN_IF_ERROR(job.status());
  if (!console.json) console.out << job->id() << " " << wire::JobStateName(job->state()) << "\n";
  const ExitCode code = ExitCodeOfJob(*job);
  if (code == ExitCode::kOk || !job->has_error()) return code;
  // The last event has told the error on `out` already.
  Console quiet = {console.out, console.err, console.err_is_terminal, false};
  return ReportError(quiet, "job " + job->id(), wire::StatusOf(job->error()), code);
}

}  // namespace

const Command kWatchCommand = {
    .name = "watch",
    .positionals = "ID",
    .summary = "follow a job to its end",
    .examples =
        "  plait watch $ID --server plait.example.com:7400\n"
        "  plait watch $ID --after 17 --json\n",
    .options = OptionsOfWatch,
    .run = RunWatch,
};

}  // namespace plait
