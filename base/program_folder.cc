#include "base/program_folder.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace plait {

std::string ProgramFolder() {
  char path[4096];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof(path));
  const absl::string_view program(path, size > 0 ? static_cast<size_t>(size) : 0);
  const size_t end = program.rfind('/');
  return end == absl::string_view::npos ? "." : std::string(program.substr(0, end));
}

std::string PythonPackagesOf(absl::string_view program_folder) {
  return absl::StrCat(program_folder, "/python:", program_folder, "/../lib/plait/python");
}

}  // namespace plait
