#include <charconv>
#include <cstring>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "optimizer/ir/value_text.h"

namespace plait {
namespace {

// T's bits after "0x", or a decimal; nullopt when it is neither or out of T's range.
template <typename T, typename Bits>
std::optional<T> ParseNumber(absl::string_view word) {
  T value{};
  if (absl::ConsumePrefix(&word, "0x")) {
    Bits bits{};
    const auto result = std::from_chars(word.data(), word.data() + word.size(), bits, 16);
    if (result.ec != std::errc() || result.ptr != word.data() + word.size()) return std::nullopt;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }
  const auto result = std::from_chars(word.data(), word.data() + word.size(), value);
  if (result.ec != std::errc() || result.ptr != word.data() + word.size()) return std::nullopt;
  return value;
}

absl::Status NotANumber(absl::string_view word, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("expected ", what, ", found \"", word.substr(0, 40), "\""));
}

// Attributes have no declared type: the printer gives every float a point, an exponent or its bits.
bool LooksLikeFloat(absl::string_view word) {
  return absl::StartsWith(word, "0x") || absl::StrContains(word, '.') ||
         absl::StrContains(word, 'e');
}

absl::StatusOr<std::string> ParseBase64(TextScanner* scanner) {
  PLAIT_ASSIGN_OR_RETURN(const std::string base64, scanner->Quoted());
  std::string bytes;
  if (!absl::Base64Unescape(base64, &bytes)) {
    return absl::InvalidArgumentError("expected base 64 within the quotes");
  }
  return bytes;
}

template <typename T>
void AppendBits(T value, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Appends the element that `word` stands for.
absl::Status ParseElement(DataType dtype, absl::string_view word, std::string* bytes) {
  if (dtype == DataType::kFloat64) {
    const auto value = ParseNumber<double, uint64_t>(word);
    if (!value.has_value()) return NotANumber(word, "a float64");
    AppendBits(*value, bytes);
    return absl::OkStatus();
  }
  // The bits of a half float, for NaNs and infinities; finite ones are written as float32s, which
  // hold them exactly.
  const bool is_half = dtype == DataType::kFloat16 || dtype == DataType::kBfloat16;
  if (is_half && absl::StartsWith(word, "0x")) {
    const auto bits = ParseNumber<uint16_t, uint16_t>(word);
    if (!bits.has_value()) return NotANumber(word, "16 bits");
    AppendBits(*bits, bytes);
    return absl::OkStatus();
  }
  if (IsFloat(dtype)) {
    const auto value = ParseNumber<float, uint32_t>(word);
    if (!value.has_value()) return NotANumber(word, DataTypeName(dtype));
    if (is_half) {
      absl::StrAppend(bytes, Tensor::FromDoubles({dtype, {}}, {double{*value}}).bytes());
    } else {
      AppendBits(*value, bytes);
    }
    return absl::OkStatus();
  }
  // Unsigned 64-bit values above the signed range are printed wrapped, and wrap back.
  int64_t value = 0;
  if (!absl::SimpleAtoi(word, &value)) return NotANumber(word, DataTypeName(dtype));
  const Tensor element = Tensor::FromInt64s({dtype, {}}, {value});
  if (element.AsInt64s()[0] != value) return NotANumber(word, DataTypeName(dtype));
  absl::StrAppend(bytes, element.bytes());
  return absl::OkStatus();
}

absl::StatusOr<AttributeValue> ParseNumberAttribute(TextScanner* scanner) {
  PLAIT_ASSIGN_OR_RETURN(const absl::string_view word, scanner->Word());
  if (LooksLikeFloat(word)) {
    const auto value = ParseNumber<float, uint32_t>(word);
    if (!value.has_value()) return NotANumber(word, "a float32");
    return *value;
  }
  int64_t value = 0;
  if (!absl::SimpleAtoi(word, &value)) return NotANumber(word, "an attribute's value");
  return value;
}

// The first element has decided the list's type.
template <typename T>
absl::StatusOr<AttributeValue> ParseRestOfList(T first, TextScanner* scanner) {
  std::vector<T> values = {std::move(first)};
  while (scanner->Consume(",")) {
    AttributeValue value;
    if (scanner->Sees("\"")) {
      PLAIT_ASSIGN_OR_RETURN(value, scanner->Quoted());
    } else {
      PLAIT_ASSIGN_OR_RETURN(value, ParseNumberAttribute(scanner));
    }
    T* element = std::get_if<T>(&value);
    if (element == nullptr) {
      return absl::InvalidArgumentError("expected a list whose elements are of one type");
    }
    values.push_back(std::move(*element));
  }
  PLAIT_RETURN_IF_ERROR(scanner->Expect("]"));
  return AttributeValue(std::move(values));
}

// Behind the '['.
absl::StatusOr<AttributeValue> ParseList(TextScanner* scanner) {
  if (scanner->Consume("]")) return AttributeValue(std::vector<int64_t>());
  if (scanner->Sees("\"")) {
    PLAIT_ASSIGN_OR_RETURN(std::string first, scanner->Quoted());
    return ParseRestOfList(std::move(first), scanner);
  }
  PLAIT_ASSIGN_OR_RETURN(const AttributeValue first, ParseNumberAttribute(scanner));
  if (const float* value = std::get_if<float>(&first)) return ParseRestOfList(*value, scanner);
  return ParseRestOfList(std::get<int64_t>(first), scanner);
}

absl::StatusOr<AttributeValue> ParseAttributeValue(TextScanner* scanner) {
  if (scanner->Consume("floats[]")) return AttributeValue(std::vector<float>());
  if (scanner->Consume("strings[]")) return AttributeValue(std::vector<std::string>());
  if (scanner->Consume("[")) return ParseList(scanner);
  if (scanner->Sees("\"")) return scanner->Quoted();
  if (scanner->Consume("tensor ")) {
    PLAIT_ASSIGN_OR_RETURN(const TensorType type, ParseType(scanner));
    return ParseTensor(type, scanner);
  }
  if (scanner->Consume("opaque ")) {
    PLAIT_ASSIGN_OR_RETURN(std::string bytes, ParseBase64(scanner));
    return AttributeValue(OpaqueBytes{std::move(bytes)});
  }
  return ParseNumberAttribute(scanner);
}

}  // namespace

absl::StatusOr<TensorType> ParseType(TextScanner* scanner) {
  PLAIT_ASSIGN_OR_RETURN(const absl::string_view word, scanner->Word());
  const std::optional<DataType> dtype = DataTypeFromName(word);
  if (!dtype.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected a type such as float32[1,3], found \"", word.substr(0, 40), "\""));
  }
  TensorType type{*dtype, {}};
  if (!type.known()) return type;
  PLAIT_RETURN_IF_ERROR(scanner->Expect("["));
  while (!scanner->Consume("]")) {
    if (!type.shape.empty()) PLAIT_RETURN_IF_ERROR(scanner->Expect(","));
    PLAIT_ASSIGN_OR_RETURN(const int64_t dim, scanner->Integer(0, kTensorElementsMax));
    // After each dimension, so that no product overflows and no list grows beyond the rank's limit.
    type.shape.push_back(dim);
    if (!IsValidShape(type.shape)) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape ", ShapeToString(type.shape), " is too large: at most ",
                       kTensorRankMax, " dimensions and ", kTensorElementsMax, " elements"));
    }
  }
  return type;
}

absl::StatusOr<Tensor> ParseTensor(const TensorType& type, TextScanner* scanner) {
  if (BytesOf(type.dtype) == 0) {
    return absl::InvalidArgumentError(absl::StrCat("a ", type.ToString(), " has no value here"));
  }
  std::string bytes;
  if (scanner->Consume("raw ")) {
    PLAIT_ASSIGN_OR_RETURN(bytes, ParseBase64(scanner));
  } else {
    if (!IsFloat(type.dtype) && !IsInteger(type.dtype) && type.dtype != DataType::kBool) {
      return absl::InvalidArgumentError(
          absl::StrCat("a ", type.ToString(), " must be written as raw bytes"));
    }
    PLAIT_RETURN_IF_ERROR(scanner->Expect("["));
    while (!scanner->Consume("]")) {
      if (!bytes.empty()) PLAIT_RETURN_IF_ERROR(scanner->Expect(","));
      PLAIT_ASSIGN_OR_RETURN(const absl::string_view word, scanner->Word());
      PLAIT_RETURN_IF_ERROR(ParseElement(type.dtype, word, &bytes));
    }
  }
  if (static_cast<int64_t>(bytes.size()) != type.bytes()) {
    return absl::InvalidArgumentError(absl::StrCat("a ", type.ToString(), " has ", type.bytes(),
                                                   " bytes, the value has ", bytes.size()));
  }
  return Tensor(type, std::move(bytes));
}

absl::StatusOr<Attributes> ParseAttributes(TextScanner* scanner) {
  Attributes attributes;
  PLAIT_RETURN_IF_ERROR(scanner->Expect("{"));
  while (!scanner->Consume("}")) {
    if (!attributes.empty()) PLAIT_RETURN_IF_ERROR(scanner->Expect(","));
    PLAIT_ASSIGN_OR_RETURN(const std::string name, scanner->Name());
    PLAIT_RETURN_IF_ERROR(scanner->Expect("="));
    absl::StatusOr<AttributeValue> value = ParseAttributeValue(scanner);
    if (!value.ok()) return Annotate(value.status(), absl::StrCat("attribute ", name));
    if (attributes.Has(name)) {
      return absl::InvalidArgumentError(absl::StrCat("attribute ", name, " is given twice"));
    }
    attributes.Set(name, *std::move(value));
  }
  return attributes;
}

}  // namespace plait
