#include "server/search_child/log_sections.h"

#include <algorithm>

#include "absl/strings/str_join.h"

namespace plait {
namespace {

// No line of a log is this one: they begin with a word and a tab.
constexpr char kNextPlan[] = "next_plan\n";

}  // namespace

std::string JoinLogs(absl::Span<const std::string> logs) { return absl::StrJoin(logs, kNextPlan); }

// Only whole lines: the words could stand inside of another one.
std::vector<absl::string_view> SplitLogs(absl::string_view text) {
  std::vector<absl::string_view> logs;
  size_t begin = 0;
  size_t line = 0;
  while (line < text.size()) {
    const size_t end = std::min(text.find('\n', line), text.size() - 1) + 1;
    if (text.substr(line, end - line) == kNextPlan) {
      logs.push_back(text.substr(begin, line - begin));
      begin = end;
    }
    line = end;
  }
  logs.push_back(text.substr(begin));
  return logs;
}

}  // namespace plait
