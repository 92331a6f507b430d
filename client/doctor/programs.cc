#include "client/doctor/programs.h"

#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include <sys/statvfs.h>
#include <unistd.h>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/run_program.h"

namespace plait {
namespace {

// 60 s: a busy machine compares some dozens of kernels in a few.
constexpr absl::Duration kProgramTimeMax = absl::Seconds(60);
// What an optimization of a large model keeps.
constexpr double kFreeBytesLow = 2e9;

absl::StatusOr<FinishedProgram> RunProgram(const std::string& program,
                                           const std::vector<std::string>& arguments) {
  ProcessOptions options;
  options.program = program;
  options.arguments = {program};
  options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
  return RunProgram(std::move(options), kProgramTimeMax);
}

// The folder, or the nearest one above it that is there.
std::filesystem::path ExistingPart(std::filesystem::path folder) {
  std::error_code error;
  folder = std::filesystem::absolute(folder, error);
  while (!std::filesystem::exists(folder, error) && folder.has_relative_path()) {
    folder = folder.parent_path();
  }
  return folder;
}

// What cannot be read counts nothing.
double BytesIn(const std::string& folder) {
  double bytes = 0;
  std::error_code error;
  const auto options = std::filesystem::directory_options::skip_permission_denied;
  std::filesystem::recursive_directory_iterator file(folder, options, error);
  for (; !error && file != std::filesystem::recursive_directory_iterator(); file.increment(error)) {
    std::error_code gone;
    if (!file->is_regular_file(gone)) continue;
    const std::uintmax_t size = file->file_size(gone);
    if (!gone) bytes += static_cast<double>(size);
  }
  return bytes;
}

Finding Missing(const std::string& check, const std::string& why) {
  return {check, FindingLevel::kError, why,
          "runs without --server need it (install plaitd and plait-worker beside plait)"};
}

}  // namespace

Finding CacheFinding(const std::string& folder) {
  const std::string existing = ExistingPart(folder).string();
  if (access(existing.c_str(), W_OK | X_OK) != 0 || !std::filesystem::is_directory(existing)) {
    return {"cache", FindingLevel::kError, absl::StrCat(folder, ": cannot be written"),
            "use --cache-dir DIR, or set XDG_CACHE_HOME"};
  }
  struct statvfs room = {};
  const double free = statvfs(existing.c_str(), &room) == 0
                          ? static_cast<double>(room.f_bavail) * static_cast<double>(room.f_frsize)
                          : 0;
  Finding finding = {"cache", FindingLevel::kOk,
                     absl::StrFormat("%s: %.2f GB in it, %.1f GB free", folder,
                                     BytesIn(folder) / 1e9, free / 1e9)};
  if (free < kFreeBytesLow) {
    finding.level = FindingLevel::kWarning;
    finding.fix = "large models need more (use --cache-dir DIR on a larger disk)";
  }
  return finding;
}

Finding DaemonFinding(const std::string& program, const std::string& version) {
  const absl::StatusOr<FinishedProgram> finished = RunProgram(program, {"--version"});
  if (!finished.ok()) return Missing("plaitd", std::string(finished.status().message()));
  const std::string found = LastLine(finished->out);
  if (!finished->Succeeded() || found.empty()) {
    return Missing("plaitd", absl::StrCat(program, " fails: ", LastLine(finished->err)));
  }
  Finding finding = {"plaitd", FindingLevel::kOk, absl::StrCat("version ", found)};
  if (found != version && !absl::EndsWith(found, absl::StrCat(" ", version))) {
    finding.level = FindingLevel::kError;
    finding.fix = absl::StrCat("it is not of this plait, which is ", version,
                               " (install programs of one version)");
  }
  return finding;
}

Finding WorkerFinding(const std::string& program) {
  const absl::StatusOr<FinishedProgram> finished =
      RunProgram(program, {"--check", "--device", "cpu"});
  if (!finished.ok()) return Missing("worker", std::string(finished.status().message()));
  if (finished->end.signal != 0) {
    return {"worker", FindingLevel::kError,
            absl::StrCat("its check died of signal ", finished->end.signal),
            "this processor and this plait do not fit (please report it, see SECURITY.md)"};
  }
  if (finished->end.exit_code != 0) {
    return {"worker", FindingLevel::kError,
            absl::StrCat("its check fails: ", LastLine(finished->err)),
            "a kernel is wrong on this processor (use --instruction-set avx2, and report it)"};
  }
  return {"worker", FindingLevel::kOk, "its check finds every kernel right"};
}

}  // namespace plait
