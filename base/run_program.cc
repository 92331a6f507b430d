#include "base/run_program.h"

#include <cerrno>
#include <optional>

#include <sys/mman.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file_descriptor.h"
#include "base/status_macros.h"

namespace plait {
namespace {

std::string TextIn(const FileDescriptor& file) {
  std::string text(size_t{64} * 1024, '\0');
  const ssize_t count = pread(file.number(), text.data(), text.size(), 0);
  text.resize(count < 0 ? 0 : static_cast<size_t>(count));
  return text;
}

}  // namespace

absl::StatusOr<FinishedProgram> RunProgram(ProcessOptions options, absl::Duration time_max) {
  // Files and not pipes: a program that prints more than a pipe holds would wait for ever.
  const FileDescriptor out(memfd_create("out", MFD_CLOEXEC));
  const FileDescriptor err(memfd_create("err", MFD_CLOEXEC));
  if (!out.is_open() || !err.is_open()) return absl::ErrnoToStatus(errno, "memfd_create");
  options.descriptors.push_back({out.number(), STDOUT_FILENO});
  options.descriptors.push_back({err.number(), STDERR_FILENO});
  PLAIT_ASSIGN_OR_RETURN(Process process, Process::Start(options));
  const std::optional<ProcessEnd> end = process.Await(time_max);
  if (!end) return absl::DeadlineExceededError(absl::StrCat(options.program, " does not end"));
  return FinishedProgram{*end, TextIn(out), TextIn(err)};
}

std::string LastLine(absl::string_view text) {
  absl::string_view last;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    last = line;
  }
  return std::string(last);
}

}  // namespace plait
