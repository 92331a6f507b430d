#include "base/peak_memory.h"

#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace plait {

// Of this address space, where getrusage also counts that of the program before exec.
int64_t PeakMemoryBytesIn(absl::string_view status) {
  for (absl::string_view line : absl::StrSplit(status, '\n')) {
    int64_t kilobytes = 0;
    if (!absl::ConsumePrefix(&line, "VmHWM:") || !absl::ConsumeSuffix(&line, " kB")) continue;
    if (absl::SimpleAtoi(absl::StripAsciiWhitespace(line), &kilobytes)) return kilobytes * 1024;
  }
  return 0;
}

int64_t PeakMemoryBytes() {
  std::ifstream file("/proc/self/status");
  return PeakMemoryBytesIn(std::string(std::istreambuf_iterator<char>(file), {}));
}

void ResetPeakMemory() {
  // 5: the peak of resident memory becomes what is resident now (proc(5), clear_refs).
  std::ofstream("/proc/self/clear_refs") << "5";
}

}  // namespace plait
