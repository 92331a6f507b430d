#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "client/command.h"
#include "client/json.h"
#include "client/server_session.h"
#include "proto/wire/job_state.h"

// For scripts: one line per job on stdout, newest first, behind a heading; 0 also when there is
// none. A state that does not exist is 2, before any server is asked. --limit is at most a million.

namespace plait {
namespace {

constexpr int kJobsDefault = 100;

std::vector<OptionSpec> OptionsOfJobs() {
  std::vector<OptionSpec> options = {
      {"--state", OptionKind::kText, "STATE",
       "only QUEUED, RUNNING, SUCCEEDED, FAILED, CANCELLED or QUARANTINED ones"},
      {"--filter", OptionKind::kText, "FILTER",
       "only those of which it is true, such as 'device = cpu AND end_time > "
       "\"2026-01-31T00:00:00Z\"'"},
      {"--limit", OptionKind::kInteger, "N", "at most so many; default 100"}};
  AddServerOptions(&options);
  return options;
}

absl::StatusOr<v1::JobState> StateOf(const std::string& name) {
  v1::JobState state = v1::JOB_STATE_UNSPECIFIED;
  // UNSPECIFIED asks for jobs in every state.
  if (name.empty()) return state;
  if (!v1::JobState_Parse("JOB_STATE_" + absl::AsciiStrToUpper(name), &state)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--state: \"", name, "\" is no state (see plait jobs --help)"));
  }
  return state;
}

absl::StatusOr<ExitCode> RunJobs(const CommandContext& context) {
  PLAIT_ASSIGN_OR_RETURN(const v1::JobState state, StateOf(context.arguments.Text("--state")));
  // The bound also keeps the number within an int.
  const auto limit = static_cast<int>(
      std::min<int64_t>(context.arguments.Integer("--limit", kJobsDefault), 1'000'000));
  PLAIT_ASSIGN_OR_RETURN(const ServerSession session, ConnectToServer(context));
  PLAIT_ASSIGN_OR_RETURN(
      const auto jobs, session.client->ListJobs(state, context.arguments.Text("--filter"), limit));
  Json json;
  json["jobs"] = Json::array();
  std::string table =
      absl::StrFormat("%-40s %-12s %-32s %s\n", "ID", "STATE", "SUBMITTED", "DEVICE");
  for (const v1::Job& job : jobs) {
    Json entry = JobJson(job);
    table += absl::StrFormat("%-40s %-12s %-32s %s\n", job.id(), wire::JobStateName(job.state()),
                             entry.value("submitted_at", ""), job.options().device());
    json["jobs"].push_back(std::move(entry));
  }
  context.console.out << (context.console.json ? JsonText(json) : table);
  return ExitCode::kOk;
}

}  // namespace

const Command kJobsCommand = {
    .name = "jobs",
    .positionals = "",
    .summary = "list jobs, newest first",
    .examples =
        "  plait jobs --server plait.example.com:7400\n"
        "  plait jobs --state running --json\n"
        "  plait jobs --filter 'state = FAILED AND device = cpu'\n",
    .options = OptionsOfJobs,
    .run = RunJobs,
};

}  // namespace plait
