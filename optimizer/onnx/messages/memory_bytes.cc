#include "optimizer/onnx/messages/memory_bytes.h"

#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "optimizer/onnx/messages/message_fields.h"

namespace plait {

namespace {

using onnx::Field;
using onnx::MessageField;

// What a value takes outside of itself.
template <typename T>
int64_t OutsideOf(const Field<T>& value) {
  if constexpr (onnx::kIsBytes<T>) return static_cast<int64_t>(value().size());
  return 0;
}

template <typename Message>
int64_t OutsideOf(const MessageField<Message>& value) {
  return value.has() ? MemoryBytes(value()) : 0;
}

template <typename T>
int64_t OutsideOf(const std::vector<T>& values) {
  int64_t bytes = static_cast<int64_t>(values.size() * sizeof(T));
  if constexpr (std::is_same_v<T, std::string>) {
    for (const std::string& value : values) bytes += static_cast<int64_t>(value.size());
  } else if constexpr (!std::is_arithmetic_v<T>) {
    for (const T& value : values) bytes += MemoryBytes(value) - static_cast<int64_t>(sizeof(T));
  }
  return bytes;
}

}  // namespace

template <typename Message>
int64_t MemoryBytes(const Message& message) {
  int64_t bytes = static_cast<int64_t>(sizeof(Message) + message.kept.size());
  std::apply([&](const auto&... field) { ((bytes += OutsideOf(message.*field.member)), ...); },
             FieldsOf(&message));
  return bytes;
}

template int64_t MemoryBytes(const onnx::ModelProto&);
template int64_t MemoryBytes(const onnx::NodeProto&);
template int64_t MemoryBytes(const onnx::AttributeProto&);

}  // namespace plait
