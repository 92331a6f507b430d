#include <algorithm>
#include <iterator>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "client/ablation.h"
#include "client/command.h"
#include "client/files/file.h"
#include "client/job_request.h"
#include "client/job_result.h"
#include "client/json.h"
#include "client/server_session.h"
#include "proto/wire/error.h"
#include "proto/wire/options.h"

// For scripts: 0 says that every pair of policies has its row, and only then they are on stdout.
// The first job that does not succeed ends the command with the code of its reason.

namespace plait {
namespace {

constexpr absl::string_view kSearches = "--searches";
constexpr absl::string_view kSchedules = "--schedules";

// What is compared unless others are named: AutoGraph's own ablations are asked for by name.
constexpr absl::string_view kSearchesByDefault[] = {"normal_form", "taso", "autograph", "plait"};

// Options of jobs that do not say how to search.
constexpr absl::string_view kJobOptions[] = {"--device",    "--threads",       "--budget", "--seed",
                                             "--precision", "--max-rel-error", "--shape"};

bool AreAmong(absl::string_view list, absl::Span<const absl::string_view> names) {
  return absl::c_all_of(absl::StrSplit(list, ','),
                        [&](absl::string_view name) { return absl::c_linear_search(names, name); });
}

absl::string_view ExpectedSearches(absl::string_view value) {
  static const std::string expected =
      absl::StrCat("some of ", absl::StrJoin(wire::SearchPolicies(), ","));
  return AreAmong(value, wire::SearchPolicies()) ? "" : absl::string_view(expected);
}

absl::string_view ExpectedSchedules(absl::string_view value) {
  static const std::string expected =
      absl::StrCat("some of ", absl::StrJoin(wire::SchedulePolicies(), ","));
  return AreAmong(value, wire::SchedulePolicies()) ? "" : absl::string_view(expected);
}

std::vector<OptionSpec> OptionsOfAblate() {
  std::vector<OptionSpec> options = {
      {kSearches, OptionKind::kText, "A,B",
       "how graphs are searched; default: normal_form,taso,autograph,plait", "", ExpectedSearches},
      {kSchedules, OptionKind::kText, "A,B",
       "how kernels are placed on streams; default: each way there is", "", ExpectedSchedules}};
  std::vector<OptionSpec> of_jobs;
  AddJobOptions(&of_jobs);
  absl::c_copy_if(of_jobs, std::back_inserter(options), [](const OptionSpec& option) {
    return absl::c_linear_search(kJobOptions, option.name);
  });
  AddServerOptions(&options);
  AddEmbeddedOptions(&options);
  return options;
}

std::vector<std::string> NamesIn(const Arguments& arguments, absl::string_view option,
                                 absl::Span<const absl::string_view> all) {
  if (!arguments.Has(option)) return {all.begin(), all.end()};
  return absl::StrSplit(arguments.Text(option), ',');
}

absl::StatusOr<ExitCode> RunAblate(const CommandContext& context) {
  const Arguments& arguments = context.arguments;
  v1::OptimizeModelRequest request;
  v1::OptimizeOptions& options = *request.mutable_options();
  PLAIT_ASSIGN_OR_RETURN(options, JobOptions(arguments));
  // Pairs are compared by what they cost, which a known result does not tell, in plait alone.
  options.set_no_result_cache(true);
  options.add_runtimes("plait");
  PLAIT_ASSIGN_OR_RETURN(const std::string model, ReadModelFile(arguments.positionals()[0]));
  PLAIT_ASSIGN_OR_RETURN(const ServerSession session,
                         ConnectOrEmbed(context, options.device(), options.threads()));
  PLAIT_ASSIGN_OR_RETURN(*request.mutable_model(), session.client->Upload(model));
  std::vector<AblationRow> rows;
  for (const std::string& search : NamesIn(arguments, kSearches, kSearchesByDefault)) {
    for (const std::string& schedule : NamesIn(arguments, kSchedules, wire::SchedulePolicies())) {
      context.console.err << "search " << search << ", schedule " << schedule << "\n";
      options.set_search(search);
      options.set_schedule(schedule);
      PLAIT_ASSIGN_OR_RETURN(const v1::Job job, RunJob(context, *session.client, request));
      if (job.state() != v1::JOB_STATE_SUCCEEDED) {
        return ReportError(context.console, absl::StrCat("job ", job.id()),
                           wire::StatusOf(job.error()), ExitCodeOfJob(job));
      }
      rows.push_back({search, schedule, job.result().report()});
    }
  }
  context.console.out << (context.console.json
                              ? JsonText(AblationJson(arguments.positionals()[0], rows))
                              : AblationTable(rows));
  return ExitCode::kOk;
}

}  // namespace

const Command kAblateCommand = {
    .name = "ablate",
    .positionals = "MODEL",
    .summary = "compare ways to search and to schedule, each with a job of its own",
    .examples =
        "  plait ablate model.onnx --budget 30s\n"
        "  plait ablate model.onnx --searches normal_form,taso,plait --schedules ios,nimble\n"
        "  plait ablate model.onnx --searches autograph,autograph_no_dp --schedules plait\n"
        "  plait ablate model.onnx --json > ablation.json\n",
    .options = OptionsOfAblate,
    .run = RunAblate,
};

}  // namespace plait
