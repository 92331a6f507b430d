#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "base/file_descriptor.h"
#include "client/command.h"
#include "plait/v1/report.pb.h"

namespace plait {

// What a job has made, to be explained here.
struct ExplainedJob {
  v1::Report report;
  FileDescriptor file;  // its optimized model, in a file without a name
  std::string path;     // by which that is read, as long as this lives
};

// Whether this is a job rather than a model: it is formed like an id, and there is no such file.
bool NamesJob(const std::string& text);

// Asks the server that --server or the environment names. Errors: those of ConnectToServer and
// Client; WRONG_STATE for a job that is not over; its own error for one that did not succeed.
absl::StatusOr<ExplainedJob> FetchJob(const CommandContext& context, const std::string& id);

}  // namespace plait
