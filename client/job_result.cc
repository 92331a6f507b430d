#include "client/job_result.h"

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "client/files/file.h"
#include "client/json.h"
#include "client/progress_bar.h"
#include "client/report_table.h"
#include "proto/wire/error.h"
#include "proto/wire/job_state.h"
#include "proto/wire/report_json.h"

namespace plait {
namespace {

void PrintReport(const CommandContext& context, const v1::Report& report) {
  Console& console = context.console;
  const bool explain = context.arguments.Has("--explain");
  for (const std::string& warning : report.warnings()) {
    console.err << "warning: " << warning << "\n";
  }
  if (console.json) {
    console.out << JsonText(wire::ReportJson(report, explain));
  } else {
    console.out << ReportTable(report, explain);
  }
}

}  // namespace

absl::Status SaveModel(const Client& client, const v1::JobResult& result, const std::string& path) {
  PLAIT_ASSIGN_OR_RETURN(const std::string bytes, client.Download(result.optimized_model()));
  return WriteFile(path, bytes);
}

absl::StatusOr<v1::Job> RunJob(const CommandContext& context, const Client& client,
                               const v1::OptimizeModelRequest& request) {
  // A signal while the request is on its way must wait until the job has an id to cancel it by.
  context.interrupts.SetHandler([] {});
  const auto reset = absl::MakeCleanup([&] { context.interrupts.SetHandler(nullptr); });
  PLAIT_ASSIGN_OR_RETURN(const v1::Job submitted, client.Submit(request));
  const std::string& job_id = submitted.id();
  const auto cancel = [&client, job_id] { client.CancelJob(job_id).IgnoreError(); };
  context.interrupts.SetHandler(cancel);
  // The signal that came while the request was on its way.
  if (context.interrupts.interrupted()) cancel();
  ProgressBar bar(context.console.err, context.console.err_is_terminal);
  const auto show = [&](const v1::Event& event) {
    if (!context.arguments.Has("--events")) return bar.Show(event);
    context.console.err << JsonLine(EventJson(event)) << std::flush;
  };
  // A cancelled job ends here like any other: the server says so.
  absl::StatusOr<v1::Job> job = client.Watch(job_id, 0, show);
  bar.Clear();
  return job;
}

absl::Status CheckOver(const v1::Job& job) {
  if (job.state() != v1::JOB_STATE_QUEUED && job.state() != v1::JOB_STATE_RUNNING) {
    return absl::OkStatus();
  }
  return wire::Error(v1::ERROR_REASON_WRONG_STATE,
                     absl::StrCat("job ", job.id(), " is ", wire::JobStateName(job.state()),
                                  " (wait for it with plait watch ", job.id(), ")"));
}

absl::Status ErrorOf(const v1::Job& job) {
  const absl::Status status = wire::StatusOf(job.error());
  return status.ok() ? absl::InternalError("the job ended without a result") : status;
}

absl::StatusOr<ExitCode> DeliverResult(const CommandContext& context, const Client& client,
                                       const v1::Job& job, const std::string& path) {
  Console& console = context.console;
  if (job.state() == v1::JOB_STATE_SUCCEEDED) {
    PLAIT_RETURN_IF_ERROR(SaveModel(client, job.result(), path));
    v1::Report report = job.result().report();
    report.mutable_output()->set_path(path);
    *report.mutable_output()->mutable_digest() = job.result().optimized_model();
    *report.mutable_plan_digest() = job.result().plan();
    PrintReport(context, report);
    return ExitCode::kOk;
  }
  // Verified like a result, but the exit code says that the job did not end well.
  if (job.has_incumbent() && job.incumbent().has_optimized_model()) {
    PLAIT_RETURN_IF_ERROR(SaveModel(client, job.incumbent(), path));
    console.err << "the best result so far is in " << path << "\n";
  }
  return ReportError(console, absl::StrCat("job ", job.id()), ErrorOf(job), ExitCodeOfJob(job));
}

}  // namespace plait
