#include <bit>
#include <charconv>
#include <cmath>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "optimizer/ir/value_text.h"

namespace plait {
namespace {

// 32: the longest list that people still read.
constexpr int64_t kListedElementsMax = 32;

// The shortest decimal that reads back as the same number. REQUIRES: finite.
template <typename T>
void AppendShortest(T value, std::string* text) {
  char buffer[32];
  const std::to_chars_result result = std::to_chars(buffer, buffer + sizeof(buffer), value);
  text->append(buffer, result.ptr);
}

// A float that cannot be taken for an integer.
void AppendFloat(float value, std::string* text) {
  if (!std::isfinite(value)) {
    absl::StrAppendFormat(text, "0x%08x", std::bit_cast<uint32_t>(value));
    return;
  }
  const size_t start = text->size();
  AppendShortest(value, text);
  if (text->find_first_of(".e", start) == std::string::npos) text->append(".0");
}

void AppendFloatElement(const Tensor& tensor, int64_t index, double value, std::string* text) {
  const DataType dtype = tensor.type().dtype;
  if (std::isfinite(value)) {
    // Half floats are floats, exactly, and shorter as such.
    if (dtype == DataType::kFloat64) {
      AppendShortest(value, text);
    } else {
      AppendShortest(static_cast<float>(value), text);
    }
  } else if (dtype == DataType::kFloat64) {
    absl::StrAppendFormat(text, "0x%016x", tensor.at<uint64_t>(index));
  } else if (dtype == DataType::kFloat32) {
    absl::StrAppendFormat(text, "0x%08x", tensor.at<uint32_t>(index));
  } else {
    absl::StrAppendFormat(text, "0x%04x", tensor.at<uint16_t>(index));
  }
}

// False for a bool that is neither 0 nor 1, whose bits a list would lose.
bool IsListable(const Tensor& tensor) {
  if (tensor.elements() > kListedElementsMax) return false;
  if (IsFloat(tensor.type().dtype) || IsInteger(tensor.type().dtype)) return true;
  return tensor.type().dtype == DataType::kBool &&
         Tensor::FromInt64s(tensor.type(), tensor.AsInt64s()) == tensor;
}

struct AppendValue {
  std::string* text;

  void operator()(int64_t value) const { absl::StrAppend(text, value); }
  void operator()(float value) const { AppendFloat(value, text); }
  void operator()(const std::string& value) const { absl::StrAppend(text, Quote(value)); }
  void operator()(const Tensor& value) const {
    absl::StrAppend(text, "tensor ", value.type().ToString(), " ");
    AppendTensor(value, text);
  }
  void operator()(const OpaqueBytes& value) const {
    absl::StrAppend(text, "opaque \"", absl::Base64Escape(value.bytes), "\"");
  }
  void operator()(const std::vector<int64_t>& values) const { List("", values); }
  void operator()(const std::vector<float>& values) const { List("floats", values); }
  void operator()(const std::vector<std::string>& values) const { List("strings", values); }

  // Only an empty list needs its type, since the elements show it elsewhere.
  template <typename T>
  void List(absl::string_view type, const std::vector<T>& values) const {
    absl::StrAppend(text, values.empty() ? type : "", "[");
    for (size_t i = 0; i < values.size(); ++i) {
      if (i > 0) absl::StrAppend(text, ",");
      (*this)(values[i]);
    }
    absl::StrAppend(text, "]");
  }
};

}  // namespace

void AppendTensor(const Tensor& tensor, std::string* text) {
  if (!IsListable(tensor)) {
    absl::StrAppend(text, "raw \"", absl::Base64Escape(tensor.bytes()), "\"");
    return;
  }
  absl::StrAppend(text, "[");
  if (IsFloat(tensor.type().dtype)) {
    const std::vector<double> values = tensor.AsDoubles();
    for (size_t i = 0; i < values.size(); ++i) {
      if (i > 0) absl::StrAppend(text, ",");
      AppendFloatElement(tensor, static_cast<int64_t>(i), values[i], text);
    }
  } else {
    const std::vector<int64_t> values = tensor.AsInt64s();
    for (size_t i = 0; i < values.size(); ++i) {
      absl::StrAppend(text, i > 0 ? "," : "", values[i]);
    }
  }
  absl::StrAppend(text, "]");
}

void AppendAttributes(const Attributes& attributes, std::string* text) {
  absl::StrAppend(text, "{");
  bool first = true;
  for (const auto& [name, value] : attributes.entries()) {
    if (!first) absl::StrAppend(text, ", ");
    first = false;
    AppendName(name, text);
    absl::StrAppend(text, "=");
    std::visit(AppendValue{text}, value);
  }
  absl::StrAppend(text, "}");
}

}  // namespace plait
