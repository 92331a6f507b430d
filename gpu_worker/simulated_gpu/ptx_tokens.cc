#include "gpu_worker/simulated_gpu/ptx_tokens.h"

#include <algorithm>
#include <cctype>

#include "absl/strings/str_cat.h"

namespace plait::simulated_gpu {
namespace {

// The dot belongs to words: opcodes, directives and special registers are words with dots.
bool InWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%' ||
         c == '.';
}

// The place behind what begins at `at` and is no token: a blank, a comment, a string; `at` if a
// token begins there, npos if it has no end.
size_t SkipOne(absl::string_view text, size_t at) {
  if (std::isspace(static_cast<unsigned char>(text[at])) != 0) return at + 1;
  if (text.substr(at, 2) == "//") return std::min(text.find('\n', at), text.size());
  if (text.substr(at, 2) == "/*") {
    const size_t end = text.find("*/", at + 2);
    return end == absl::string_view::npos ? end : end + 2;
  }
  if (text[at] == '"') {
    const size_t end = text.find('"', at + 1);
    return end == absl::string_view::npos ? end : end + 1;
  }
  return at;
}

}  // namespace

bool IsWord(absl::string_view token) { return !token.empty() && InWord(token[0]); }

absl::StatusOr<std::vector<PtxToken>> TokensOf(absl::string_view text) {
  std::vector<PtxToken> tokens;
  int line = 1;
  for (size_t at = 0; at < text.size();) {
    const size_t skipped = SkipOne(text, at);
    if (skipped == absl::string_view::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("PTX line ", line, ": a comment or string without an end"));
    }
    if (skipped > at) {
      line += static_cast<int>(std::count(text.begin() + at, text.begin() + skipped, '\n'));
      at = skipped;
      continue;
    }
    size_t end = at + 1;
    if (InWord(text[at])) {
      while (end < text.size() && InWord(text[end])) ++end;
    }
    tokens.push_back({text.substr(at, end - at), line});
    at = end;
  }
  tokens.push_back({"", line});
  return tokens;
}

}  // namespace plait::simulated_gpu
