#include "bench/gpu/flat_json.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

namespace plait::cuda {
namespace {

constexpr size_t kLineBytesMax = 16 << 20;
constexpr double kIntegerMax = 9007199254740992.0;  // 2^53

bool IsInteger(double number) {
  return std::floor(number) == number && std::fabs(number) <= kIntegerMax;
}

std::string NumberText(double value) {
  if (!std::isfinite(value)) return "null";
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof(text), value);
  return std::string(text, end);
}

}  // namespace

// Recursive descent, at most two levels deep; one use.
class FlatReader {
 public:
  explicit FlatReader(std::string_view text) : text_(text) {}

  Result<FlatObject> Read() {
    FlatObject object;
    if (text_.size() > kLineBytesMax) return Error{ErrorCode::kInvalid, "json: line too long"};
    if (!ReadObject(&object) || (SkipSpace(), place_ != text_.size())) {
      return Error{ErrorCode::kInvalid, "json: not understood at byte " + std::to_string(place_)};
    }
    return object;
  }

 private:
  bool ReadObject(FlatObject* object) {
    if (!Take('{')) return false;
    if (Take('}')) return true;
    do {
      std::string name;
      FlatObject::Value value;
      if (!ReadString(&name) || !Take(':') || !ReadValue(&value)) return false;
      if (!object->fields_.emplace(std::move(name), std::move(value)).second) return false;
    } while (Take(','));
    return Take('}');
  }

  bool ReadValue(FlatObject::Value* value) {
    SkipSpace();
    const char next = place_ < text_.size() ? text_[place_] : '\0';
    if (next == '"') return ReadString(&value->emplace<std::string>());
    if (next == '[') return ReadList(value);
    if (next == '{') return ReadNumbersByName(&value->emplace<std::map<std::string, double>>());
    if (TakeWord("true")) return value->emplace<bool>(true);
    if (TakeWord("false")) return *value = false, true;
    if (TakeWord("null")) return *value = nullptr, true;
    return ReadNumber(&value->emplace<double>());
  }

  bool ReadNumbersByName(std::map<std::string, double>* numbers) {
    if (!Take('{')) return false;
    if (Take('}')) return true;
    do {
      std::string name;
      double number = 0;
      if (!ReadString(&name) || !Take(':') || !ReadNumber(&number)) return false;
      if (!numbers->emplace(std::move(name), number).second) return false;
    } while (Take(','));
    return Take('}');
  }

  bool ReadList(FlatObject::Value* value) {
    const size_t start = place_;
    FlatObject::NumberList numbers;
    if (ReadNumbers(&numbers)) return *value = std::move(numbers), true;
    place_ = start;
    std::vector<FlatObject::NumberList> lists;
    std::vector<std::string> strings;
    if (!Take('[')) return false;
    do {
      SkipSpace();
      const bool text = place_ < text_.size() && text_[place_] == '"';
      if (text ? !ReadString(&strings.emplace_back()) : !ReadNumbers(&lists.emplace_back())) {
        return false;
      }
    } while (Take(','));
    if (!strings.empty() && !lists.empty()) return false;
    if (strings.empty()) {
      *value = std::move(lists);
    } else {
      *value = std::move(strings);
    }
    return Take(']');
  }

  bool ReadNumbers(FlatObject::NumberList* numbers) {
    if (!Take('[')) return false;
    if (Take(']')) return true;
    do {
      if (!ReadNumber(&numbers->emplace_back())) return false;
    } while (Take(','));
    return Take(']');
  }

  bool ReadNumber(double* number) {
    SkipSpace();
    const char* begin = text_.data() + place_;
    const char* end = text_.data() + text_.size();
    if (begin == end || (*begin != '-' && (*begin < '0' || *begin > '9'))) return false;
    const auto [last, error] = std::from_chars(begin, end, *number);
    if (error != std::errc() || !std::isfinite(*number)) return false;
    place_ += last - begin;
    return true;
  }

  bool ReadString(std::string* text) {
    if (!Take('"')) return false;
    while (place_ < text_.size() && text_[place_] != '"') {
      if (static_cast<unsigned char>(text_[place_]) < 0x20) return false;
      if (text_[place_] != '\\') {
        *text += text_[place_++];
      } else if (!ReadEscape(text)) {
        return false;
      }
    }
    if (place_ >= text_.size()) return false;
    ++place_;
    return true;
  }

  bool ReadEscape(std::string* text) {
    static constexpr std::string_view kNames = "\"\\/bfnrt", kValues = "\"\\/\b\f\n\r\t";
    if (place_ + 1 >= text_.size()) return false;
    const char name = text_[place_ + 1];
    place_ += 2;
    if (const size_t known = kNames.find(name); known != std::string_view::npos) {
      *text += kValues[known];
      return true;
    }
    unsigned code = 0;
    if (name != 'u' || place_ + 4 > text_.size()) return false;
    const char* begin = text_.data() + place_;
    const auto [last, error] = std::from_chars(begin, begin + 4, code, 16);
    if (error != std::errc() || last != begin + 4) return false;
    if (code >= 0xd800 && code < 0xe000) return false;  // surrogates: we never write them
    place_ += 4;
    AppendUtf8(code, text);
    return true;
  }

  static void AppendUtf8(unsigned code, std::string* text) {
    if (code < 0x80) {
      *text += static_cast<char>(code);
    } else if (code < 0x800) {
      *text += static_cast<char>(0xc0 | (code >> 6));
      *text += static_cast<char>(0x80 | (code & 0x3f));
    } else {
      *text += static_cast<char>(0xe0 | (code >> 12));
      *text += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
      *text += static_cast<char>(0x80 | (code & 0x3f));
    }
  }

  void SkipSpace() {
    while (place_ < text_.size() && (text_[place_] == ' ' || text_[place_] == '\t' ||
                                     text_[place_] == '\n' || text_[place_] == '\r')) {
      ++place_;
    }
  }

  bool Take(char expected) {
    SkipSpace();
    if (place_ >= text_.size() || text_[place_] != expected) return false;
    ++place_;
    return true;
  }

  bool TakeWord(std::string_view word) {
    if (text_.substr(place_, word.size()) != word) return false;
    place_ += word.size();
    return true;
  }

  std::string_view text_;
  size_t place_ = 0;
};

Result<FlatObject> FlatObject::Parse(std::string_view line) { return FlatReader(line).Read(); }

std::string FlatObject::Text(const std::string& name, const std::string& fallback) const {
  const auto found = fields_.find(name);
  const auto* text = found == fields_.end() ? nullptr : std::get_if<std::string>(&found->second);
  return text == nullptr ? fallback : *text;
}

double FlatObject::Number(const std::string& name, double fallback) const {
  const auto found = fields_.find(name);
  const auto* number = found == fields_.end() ? nullptr : std::get_if<double>(&found->second);
  return number == nullptr ? fallback : *number;
}

int64_t FlatObject::Integer(const std::string& name, int64_t fallback) const {
  const double number = Number(name, 0.5);
  return IsInteger(number) ? static_cast<int64_t>(number) : fallback;
}

bool FlatObject::Bool(const std::string& name, bool fallback) const {
  const auto found = fields_.find(name);
  const auto* value = found == fields_.end() ? nullptr : std::get_if<bool>(&found->second);
  return value == nullptr ? fallback : *value;
}

std::vector<double> FlatObject::Numbers(const std::string& name) const {
  const auto found = fields_.find(name);
  const auto* numbers = found == fields_.end() ? nullptr : std::get_if<NumberList>(&found->second);
  return numbers == nullptr ? std::vector<double>() : *numbers;
}

std::vector<int64_t> FlatObject::Integers(const std::string& name) const {
  std::vector<int64_t> integers;
  for (const double number : Numbers(name)) {
    if (!IsInteger(number)) return {};
    integers.push_back(static_cast<int64_t>(number));
  }
  return integers;
}

std::vector<std::vector<int64_t>> FlatObject::IntegerLists(const std::string& name) const {
  std::vector<std::vector<int64_t>> result;
  const auto found = fields_.find(name);
  const auto* lists =
      found == fields_.end() ? nullptr : std::get_if<std::vector<NumberList>>(&found->second);
  if (lists == nullptr) return result;
  for (const NumberList& numbers : *lists) {
    auto& integers = result.emplace_back();
    for (double number : numbers) {
      if (!IsInteger(number)) return {};
      integers.push_back(static_cast<int64_t>(number));
    }
  }
  return result;
}

FlatWriter& FlatWriter::AddRaw(const std::string& name, const std::string& json) {
  if (!text_.empty()) text_ += ",";
  text_ += QuoteJson(name) + ":" + json;
  return *this;
}

FlatWriter& FlatWriter::Add(const std::string& name, const std::string& value) {
  return AddRaw(name, QuoteJson(value));
}
FlatWriter& FlatWriter::Add(const std::string& name, const char* value) {
  return AddRaw(name, QuoteJson(value));
}
FlatWriter& FlatWriter::Add(const std::string& name, double value) {
  return AddRaw(name, NumberText(value));
}
FlatWriter& FlatWriter::Add(const std::string& name, int64_t value) {
  return AddRaw(name, std::to_string(value));
}
FlatWriter& FlatWriter::Add(const std::string& name, bool value) {
  return AddRaw(name, value ? "true" : "false");
}

FlatWriter& FlatWriter::Add(const std::string& name, const std::vector<std::string>& values) {
  std::string json;
  for (const std::string& value : values) json += (json.empty() ? "" : ",") + QuoteJson(value);
  return AddRaw(name, "[" + json + "]");
}

FlatWriter& FlatWriter::Add(const std::string& name, const std::vector<double>& values) {
  std::string json;
  for (double value : values) json += (json.empty() ? "" : ",") + NumberText(value);
  return AddRaw(name, "[" + json + "]");
}

FlatWriter& FlatWriter::Add(const std::string& name,
                            const std::vector<std::vector<int64_t>>& values) {
  std::string json;
  for (const auto& list : values) {
    std::string inner;
    for (int64_t value : list) inner += (inner.empty() ? "" : ",") + std::to_string(value);
    json += (json.empty() ? "[" : ",[") + inner + "]";
  }
  return AddRaw(name, "[" + json + "]");
}

std::string QuoteJson(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (byte < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04x", static_cast<unsigned>(byte));
      quoted += escape;
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace plait::cuda
