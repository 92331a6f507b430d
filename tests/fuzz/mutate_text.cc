#include "tests/fuzz/mutate_text.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"

namespace plait {
namespace {

constexpr absl::string_view kNumbers[] = {"0",
                                          "1",
                                          "2",
                                          "3",
                                          "7",
                                          "8",
                                          "63",
                                          "64",
                                          "65",
                                          "1000",
                                          "-1",
                                          "-2",
                                          "2147483647",
                                          "4294967296",
                                          "1099511627776",
                                          "-64",
                                          "268435456",
                                          "16777217",
                                          "-9223372036854775808",
                                          "9223372036854775807"};

constexpr absl::string_view kTypes[] = {"float32", "float64",   "float16",    "bfloat16", "int32",
                                        "int64",   "int8",      "uint8",      "uint64",   "bool",
                                        "string",  "complex64", "complex128", "undefined"};

constexpr absl::string_view kOperators[] = {
#define PLAIT_OP(name) #name,
#include "optimizer/ir/op_kinds.def"
#undef PLAIT_OP
};

constexpr absl::string_view kFamilies[] = {
#define PLAIT_CPU_FAMILY(name, Name) #name,
#include "gpu_worker/backends/cpu/families.def"
#undef PLAIT_CPU_FAMILY
};

constexpr absl::string_view kFormats[] = {
#define PLAIT_FORMAT(name, ...) #name,
#include "optimizer/kernels/formats.def"
#undef PLAIT_FORMAT
};

using Words = absl::Span<const absl::string_view>;
constexpr Words kVocabularies[] = {kTypes, kOperators, kFamilies, kFormats};

struct Token {
  size_t begin;
  size_t size;
};

bool IsWordByte(char byte) { return absl::ascii_isalnum(byte) || byte == '_' || byte == '-'; }

std::vector<Token> TokensOf(absl::string_view text) {
  std::vector<Token> tokens;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!IsWordByte(text[i])) continue;
    if (i == 0 || !IsWordByte(text[i - 1])) tokens.push_back({i, 0});
    ++tokens.back().size;
  }
  return tokens;
}

size_t Below(size_t count, Random* random) {
  return static_cast<size_t>(random->Integer(0, static_cast<int64_t>(count) - 1));
}

// The words that may stand where `word` does, as far as that is known; empty where it is not.
Words WordsLike(absl::string_view word) {
  if (absl::ascii_isdigit(word.back()) && !absl::ascii_isalpha(word.front())) return kNumbers;
  for (const Words words : kVocabularies) {
    if (std::find(words.begin(), words.end(), word) != words.end()) return words;
  }
  return {};
}

// Mostly by a word of its kind, so that the text still parses; else by any other of the text.
std::string ReplaceToken(absl::string_view text, Random* random) {
  const std::vector<Token> tokens = TokensOf(text);
  std::string changed(text);
  if (tokens.empty()) return changed;
  const Token& token = tokens[Below(tokens.size(), random)];
  const Token& other = tokens[Below(tokens.size(), random)];
  absl::string_view word = text.substr(other.begin, other.size);
  const Words words = WordsLike(text.substr(token.begin, token.size));
  if (!words.empty() && random->Integer(0, 7) != 0) word = words[Below(words.size(), random)];
  return changed.replace(token.begin, token.size, word.data(), word.size());
}

std::string ChangeLines(absl::string_view text, Random* random) {
  std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  const size_t line = Below(lines.size(), random);
  const size_t other = Below(lines.size(), random);
  switch (random->Integer(0, 2)) {
    case 0:
      lines.erase(lines.begin() + static_cast<int64_t>(line));
      break;
    case 1:
      lines.insert(lines.begin() + static_cast<int64_t>(other), lines[line]);
      break;
    default:
      std::swap(lines[line], lines[other]);
  }
  return absl::StrJoin(lines, "\n");
}

std::string ChangeByte(absl::string_view text, Random* random) {
  std::string changed(text);
  if (!changed.empty()) {
    changed[Below(changed.size(), random)] = static_cast<char>(random->Integer(0, 255));
  }
  return changed;
}

}  // namespace

std::string MutateText(absl::string_view text, Random* random) {
  const int64_t kind = random->Integer(0, 9);
  if (kind == 0) return ChangeByte(text, random);
  if (kind <= 2) return ChangeLines(text, random);
  return ReplaceToken(text, random);
}

}  // namespace plait
