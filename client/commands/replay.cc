#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "client/command.h"
#include "client/files/file.h"
#include "client/job_result.h"
#include "client/json.h"
#include "client/server_session.h"
#include "proto/wire/error.h"
#include "proto/wire/job_state.h"

// For scripts: 0 says that the replay made the bytes that the job had made, and that they lie at
// the output path. Other bytes are 1, and lie there as well. A job that did not succeed has nothing
// to replay: 2.

namespace plait {
namespace {

std::vector<OptionSpec> OptionsOfReplay() {
  std::vector<OptionSpec> options = {
      {"--output", OptionKind::kText, "FILE", "the optimized model; default: ID.onnx", "-o"},
      {"--explain", OptionKind::kSwitch, "", "tell each rule's law and what the search decided"},
      {"--device", OptionKind::kText, "DEVICE", "of the job, without --server; default cpu"},
      {"--threads", OptionKind::kInteger, "N", "of the job, without --server"}};
  AddServerOptions(&options);
  AddEmbeddedOptions(&options);
  return options;
}

// The request that decides the job again from what was measured for it.
absl::StatusOr<v1::OptimizeModelRequest> ReplayOf(const v1::Job& job) {
  if (!job.result().has_measurement_log()) {
    return wire::Error(v1::ERROR_REASON_WRONG_STATE,
                       absl::StrCat("job ", job.id(), " is ", wire::JobStateName(job.state()),
                                    " and has no measurement log (replay one that succeeded)"));
  }
  v1::OptimizeModelRequest request;
  *request.mutable_model() = job.model();
  *request.mutable_options() = job.options();
  *request.mutable_options()->mutable_measurement_log() = job.result().measurement_log();
  // Else the server would answer with the very result that is to be checked.
  request.mutable_options()->set_no_result_cache(true);
  return request;
}

absl::StatusOr<ExitCode> RunReplay(const CommandContext& context) {
  const Arguments& arguments = context.arguments;
  const std::string id = arguments.positionals()[0];
  const std::string output = arguments.Text("--output", id + ".onnx");
  PLAIT_RETURN_IF_ERROR(CheckWritable(output));
  PLAIT_ASSIGN_OR_RETURN(const ServerSession session,
                         ConnectOrEmbed(context, arguments.Text("--device", "cpu"),
                                        static_cast<int>(arguments.Integer("--threads"))));
  const Client& client = *session.client;
  PLAIT_ASSIGN_OR_RETURN(const v1::Job original, client.GetJob(id));
  PLAIT_ASSIGN_OR_RETURN(const v1::OptimizeModelRequest request, ReplayOf(original));
  PLAIT_ASSIGN_OR_RETURN(const v1::Job replayed, RunJob(context, client, request));
  // Digests and not bytes: the server has hashed both.
  const std::string& before = original.result().optimized_model().sha256_hex();
  const std::string& after = replayed.result().optimized_model().sha256_hex();
  if (replayed.state() != v1::JOB_STATE_SUCCEEDED || before == after) {
    return DeliverResult(context, client, replayed, output);
  }
  PLAIT_RETURN_IF_ERROR(SaveModel(client, replayed.result(), output));
  return absl::InternalError(absl::StrCat("the replay of job ", id, " made ", after,
                                          ", the job had made ", before,
                                          " (please report this with the model)"));
}

}  // namespace

const Command kReplayCommand = {
    .name = "replay",
    .positionals = "ID",
    .summary = "decide a job again from its measurements; the result is the same bytes",
    .examples =
        "  plait replay $ID -o again.onnx --server plait.example.com:7400\n"
        "  plait replay $ID -o again.onnx\n",
    .options = OptionsOfReplay,
    .run = RunReplay,
};

}  // namespace plait
