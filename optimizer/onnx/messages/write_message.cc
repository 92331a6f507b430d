#include "optimizer/onnx/messages/write_message.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "optimizer/onnx/messages/message_fields.h"
#include "optimizer/onnx/messages/protobuf_fields.h"
#include "protozero/pbf_writer.hpp"

namespace plait {

namespace {

using onnx::Field;
using onnx::Form;
using onnx::kIsBytes;
using onnx::MessageField;

// Of the low bits of a signed number, as protobuf extends it.
template <typename T>
size_t NumberBytes(T number) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<size_t>(protozero::length_of_varint(static_cast<uint64_t>(number)));
  } else {
    return sizeof(number);
  }
}

size_t TagBytes(int number) {
  return static_cast<size_t>(protozero::length_of_varint(static_cast<uint64_t>(number) << 3));
}

size_t DelimitedBytes(int number, size_t payload_bytes) {
  return TagBytes(number) + static_cast<size_t>(protozero::length_of_varint(payload_bytes)) +
         payload_bytes;
}

// The fields that a message kept, by number; views into them.
std::vector<WireField> KeptByNumber(absl::string_view kept) {
  std::vector<WireField> fields;
  WireReader reader(kept);
  while (true) {
    const absl::StatusOr<std::optional<WireField>> field = reader.Next();
    if (!field.ok() || !field->has_value()) break;
    fields.push_back(**field);
  }
  std::stable_sort(fields.begin(), fields.end(),
                   [](const WireField& a, const WireField& b) { return a.number < b.number; });
  return fields;
}

// The lengths that stand in the bytes, in their order: of every message within a message and of all
// packed numbers. A length stands in front of what it measures, so all are known before the first
// byte is written, which then are written where they stay.
class Lengths {
 public:
  template <typename Message>
  size_t Measure(const Message& message) {
    const size_t index = Open();
    size_t total = message.kept.size();
    const auto add = [&](const auto& field) {
      total += ValueBytes(field.number, field.form, message.*field.member);
    };
    std::apply([&](const auto&... field) { (add(field), ...); }, FieldsOf(&message));
    return lengths_[index] = total;
  }

  size_t Next() { return lengths_[next_++]; }

 private:
  // Room for a length that follows.
  size_t Open() {
    lengths_.push_back(0);
    return lengths_.size() - 1;
  }

  template <typename T>
  size_t ValueBytes(int number, Form, const Field<T>& value) {
    if (!value.has()) return 0;
    if constexpr (kIsBytes<T>) {
      return DelimitedBytes(number, value().size());
    } else {
      return TagBytes(number) + NumberBytes(value());
    }
  }

  template <typename Message>
  size_t ValueBytes(int number, Form, const MessageField<Message>& value) {
    return value.has() ? DelimitedBytes(number, Measure(value())) : 0;
  }

  template <typename T>
  size_t ValueBytes(int number, Form form, const std::vector<T>& values) {
    if (values.empty()) return 0;
    size_t total = 0;
    if constexpr (std::is_arithmetic_v<T>) {
      for (const T& value : values) total += NumberBytes(value);
      if (form != Form::kPacked) return total + values.size() * TagBytes(number);
      return DelimitedBytes(number, lengths_[Open()] = total);
    } else if constexpr (std::is_same_v<T, std::string>) {
      for (const T& value : values) total += DelimitedBytes(number, value.size());
    } else {
      for (const T& value : values) total += DelimitedBytes(number, Measure(value));
    }
    return total;
  }

  std::vector<size_t> lengths_;
  size_t next_ = 0;
};

class MessageWriter {
 public:
  // Both outlive it.
  MessageWriter(Lengths& lengths, std::string& out) : lengths_(lengths), out_(out), writer_(out) {}

  // The message's own length has been taken from the lengths.
  template <typename Message>
  void Write(const Message& message) {
    const std::vector<WireField> kept = KeptByNumber(message.kept);
    auto next_kept = kept.begin();
    const auto write_kept_below = [&](int number) {
      for (; next_kept != kept.end() && next_kept->number < number; ++next_kept) {
        out_.append(next_kept->whole.data(), next_kept->whole.size());
      }
    };
    const auto write = [&](const auto& field) {
      write_kept_below(field.number);
      WriteValue(field.number, field.form, message.*field.member);
    };
    std::apply([&](const auto&... field) { (write(field), ...); }, FieldsOf(&message));
    write_kept_below(std::numeric_limits<int>::max());
  }

 private:
  template <typename T>
  void WriteValue(int number, Form, const Field<T>& value) {
    if (value.has()) WriteOne(number, value());
  }

  template <typename Message>
  void WriteValue(int number, Form, const MessageField<Message>& value) {
    if (value.has()) WriteOne(number, value());
  }

  template <typename T>
  void WriteValue(int number, Form form, const std::vector<T>& values) {
    if constexpr (std::is_arithmetic_v<T>) {
      if (form == Form::kPacked) return WritePacked(number, values);
    }
    for (const T& value : values) WriteOne(number, value);
  }

  template <typename T>
  void WriteOne(int number, const T& value) {
    const auto tag = static_cast<protozero::pbf_tag_type>(number);
    if constexpr (std::is_same_v<T, float>) {
      writer_.add_float(tag, value);
    } else if constexpr (std::is_same_v<T, double>) {
      writer_.add_double(tag, value);
    } else if constexpr (std::is_integral_v<T>) {
      writer_.add_uint64(tag, static_cast<uint64_t>(value));
    } else if constexpr (kIsBytes<T>) {
      writer_.add_bytes(tag, value.data(), value.size());
    } else {
      WriteHeader(number, lengths_.Next());
      Write(value);
    }
  }

  template <typename T>
  void WritePacked(int number, const std::vector<T>& values) {
    if (values.empty()) return;
    WriteHeader(number, lengths_.Next());
    if constexpr (std::is_integral_v<T>) {
      for (const T value : values) AppendVarint(static_cast<uint64_t>(value), &out_);
    } else {
      // Little-endian, as the elements of the IR's tensors are.
      out_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    }
  }

  // Not as protozero's writers of messages do it, which move what they wrote to make room for its
  // length.
  void WriteHeader(int number, size_t length) {
    AppendVarint(static_cast<uint64_t>(number) << 3 | 2, &out_);
    AppendVarint(length, &out_);
  }

  Lengths& lengths_;
  std::string& out_;
  protozero::pbf_writer writer_;
};

}  // namespace

template <typename Message>
absl::StatusOr<std::string> WriteMessage(const Message& message, absl::string_view what) {
  Lengths lengths;
  const size_t size = lengths.Measure(message);
  if (static_cast<int64_t>(size) > kModelBytesMax) {
    return absl::ResourceExhaustedError(absl::StrCat(what, " would have ", size,
                                                     " bytes, more than ", kModelBytesMax,
                                                     ", the largest protobuf message"));
  }
  std::string bytes;
  bytes.reserve(lengths.Next());
  MessageWriter(lengths, bytes).Write(message);
  return bytes;
}

template absl::StatusOr<std::string> WriteMessage(const onnx::ModelProto&, absl::string_view);
template absl::StatusOr<std::string> WriteMessage(const onnx::NodeProto&, absl::string_view);
template absl::StatusOr<std::string> WriteMessage(const onnx::AttributeProto&, absl::string_view);
template absl::StatusOr<std::string> WriteMessage(const onnx::TensorProto&, absl::string_view);

}  // namespace plait
