#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "client/client.h"
#include "client/command.h"

namespace plait {

// Queues a job and follows it to its end with progress on `err`. From the first byte that is sent,
// Ctrl-C cancels the job. Errors: those of Client::Submit and Client::Watch.
// When this program dies, a remote job goes on: its id is in the listing, and `watch` follows it.
absl::StatusOr<v1::Job> RunJob(const CommandContext& context, const Client& client,
                               const v1::OptimizeModelRequest& request);

// Writes the optimized model of a result to `path`. Errors: those of Client::Download and
// WriteFile.
absl::Status SaveModel(const Client& client, const v1::JobResult& result, const std::string& path);

// Errors: WRONG_STATE for a job that is queued or running. Such a one may have a best result so
// far, which can still change: it is not handed out.
absl::Status CheckOver(const v1::Job& job);

// Why a job that is over did not succeed.
absl::Status ErrorOf(const v1::Job& job);

// Writes the optimized model of a job that succeeded to `path` and prints its report. For one that
// did not, reports its error and says whether its best result so far could be written.
// Errors: those of Client::Download and WriteFile.
// The file is written before the report is printed, and in one step: a script that reads the report
// finds the model.
absl::StatusOr<ExitCode> DeliverResult(const CommandContext& context, const Client& client,
                                       const v1::Job& job, const std::string& path);

}  // namespace plait
