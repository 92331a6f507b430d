#include "client/explained_job.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include <sys/mman.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "client/job_result.h"
#include "client/server_session.h"

namespace plait {

bool NamesJob(const std::string& text) {
  const bool is_id = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-';
  });
  std::error_code ignored;
  return is_id && !std::filesystem::exists(text, ignored);
}

absl::StatusOr<ExplainedJob> FetchJob(const CommandContext& context, const std::string& id) {
  const absl::StatusOr<ServerSession> session = ConnectToServer(context);
  if (!session.ok()) {
    const absl::Status& status = session.status();
    return absl::Status(status.code(), absl::StrCat(id, ": there is no such file, and for a job ",
                                                    status.message()));
  }
  PLAIT_ASSIGN_OR_RETURN(const v1::Job job, session->client->GetJob(id));
  PLAIT_RETURN_IF_ERROR(CheckOver(job));
  if (job.state() != v1::JOB_STATE_SUCCEEDED) return ErrorOf(job);
  ExplainedJob explained;
  explained.report = job.result().report();
  explained.file = FileDescriptor(memfd_create("plait-job", MFD_CLOEXEC));
  if (!explained.file.is_open()) return absl::InternalError("no memory for the job's model");
  explained.path = absl::StrCat("/proc/self/fd/", explained.file.number());
  PLAIT_ASSIGN_OR_RETURN(const std::string bytes,
                         session->client->Download(job.result().optimized_model()));
  std::ofstream file(explained.path, std::ios::binary);
  if (!(file << bytes).flush()) return absl::InternalError("no memory for the job's model");
  return explained;
}

}  // namespace plait
