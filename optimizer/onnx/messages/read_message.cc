#include "optimizer/onnx/messages/read_message.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "optimizer/onnx/messages/message_fields.h"
#include "optimizer/onnx/messages/protobuf_fields.h"
#include "optimizer/onnx/messages/protobuf_limits.h"

namespace plait {

namespace {

using onnx::Field;
using onnx::Form;
using onnx::MessageField;

// Protobuf's own limit, in every language.
constexpr int kMessageDepthMax = 100;

template <typename T>
constexpr bool kIsNumber = std::is_arithmetic_v<T>;

// How one number is written.
template <typename T>
constexpr WireType kWireTypeOf = std::is_integral_v<T> ? WireType::kVarint
                                 : sizeof(T) == 8      ? WireType::kEightBytes
                                                       : WireType::kFourBytes;

// How often the field occurs in a message, so that a vector takes no more memory than its elements.
size_t CountFields(absl::string_view message, int number) {
  WireReader reader(message);
  size_t count = 0;
  while (true) {
    const absl::StatusOr<std::optional<WireField>> field = reader.Next();
    if (!field.ok() || !field->has_value()) return count;
    if ((*field)->number == number) ++count;
  }
}

// A number that is written with its bytes in order, or the low bits of a varint.
template <typename T>
T NumberOf(const WireField& field) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(field.varint);
  } else {
    T value;
    std::memcpy(&value, field.payload.data(), sizeof(T));
    return value;
  }
}

// Walks over a message and all messages in it, and builds them where it is given one to build in;
// without one it only counts. Everything that is built is a field, of the model or of any message
// in it, so counting fields bounds the memory.
class MessageReader {
 public:
  // Of a model whose initializers shall look at the bytes that it is read from.
  static MessageReader LookingAtInitializers() {
    MessageReader reader;
    reader.looks_at_initializers_ = true;
    return reader;
  }

  // `message` may be null. What it has already is kept: protobuf merges a message that comes twice.
  template <typename Message>
  absl::Status Read(absl::string_view bytes, int depth, Message* message) {
    if (depth > kMessageDepthMax) {
      return absl::ResourceExhaustedError(
          absl::StrCat("messages are nested deeper than ", kMessageDepthMax));
    }
    PLAIT_RETURN_IF_ERROR(Enter<Message>());
    WireReader reader(bytes);
    while (true) {
      PLAIT_ASSIGN_OR_RETURN(const std::optional<WireField> field, reader.Next());
      if (!field.has_value()) break;
      PLAIT_RETURN_IF_ERROR(Count(1));
      const Place place{*field, reader.rest(), depth};
      bool taken = false;
      PLAIT_RETURN_IF_ERROR(ReadOneOf(place, message, &taken));
      if (!taken && message != nullptr) {
        message->kept.append(field->whole.data(), field->whole.size());
      }
    }
    if constexpr (std::is_same_v<Message, onnx::GraphProto>) --graph_depth_;
    return absl::OkStatus();
  }

 private:
  // A field, the message's bytes behind it, and how deep the message lies.
  struct Place {
    const WireField& field;
    absl::string_view rest;
    int depth;
  };

  // Reads the field if the message has one of its number.
  template <typename Message>
  absl::Status ReadOneOf(const Place& place, Message* message, bool* taken) {
    constexpr auto kFields = FieldsOf(static_cast<const Message*>(nullptr));
    absl::Status status;
    const auto read = [&](const auto& field) {
      if (field.number != place.field.number) return false;
      auto* const value = message == nullptr ? nullptr : &(message->*field.member);
      status = ReadValue(place, value, taken);
      const bool is_choice = *taken && field.form == Form::kChoice;
      if (message != nullptr && is_choice) ClearOthers(field.number, message);
      return true;
    };
    std::apply([&](const auto&... field) { (void)(read(field) || ...); }, kFields);
    return status;
  }

  template <typename Message>
  static void ClearOthers(int number, Message* message) {
    const auto clear = [&](const auto& field) {
      if constexpr (requires { (message->*field.member).clear(); }) {
        if (field.form == Form::kChoice && field.number != number) {
          (message->*field.member).clear();
        }
      }
    };
    std::apply([&](const auto&... field) { (clear(field), ...); },
               FieldsOf(static_cast<const Message*>(nullptr)));
  }

  // The following read a field of one kind of value, which may be null. A field that is written in
  // another way is not taken: it is unknown to every reader.
  template <typename T>
  absl::Status ReadValue(const Place& place, Field<T>* value, bool* taken) {
    constexpr WireType kExpected = onnx::kIsBytes<T> ? WireType::kLengthDelimited : kWireTypeOf<T>;
    const absl::string_view payload = place.field.payload;
    *taken = place.field.wire_type == kExpected;
    if (!*taken || value == nullptr) return absl::OkStatus();
    if constexpr (kIsNumber<T>) {
      *value = NumberOf<T>(place.field);
    } else if constexpr (std::is_same_v<T, onnx::Bytes>) {
      if (LooksAt(place)) {
        value->mutable_value()->LookAt(payload);
      } else {
        value->mutable_value()->assign(payload.data(), payload.size());
      }
    } else {
      value->mutable_value()->assign(payload.data(), payload.size());
    }
    return absl::OkStatus();
  }

  // Whether the elements stay where they are: those of a large initializer, because at the depth of
  // the graph's fields no other tensor lies.
  bool LooksAt(const Place& place) const {
    constexpr int kInitializerDepth = 2;
    return looks_at_initializers_ && place.depth == kInitializerDepth &&
           static_cast<int64_t>(place.field.payload.size()) > kInlineConstantBytesMax;
  }

  template <typename Message>
  absl::Status ReadValue(const Place& place, MessageField<Message>* value, bool* taken) {
    *taken = place.field.is_message();
    if (!*taken) return absl::OkStatus();
    Message* const message = value == nullptr ? nullptr : value->mutable_value();
    return Read(place.field.payload, place.depth + 1, message);
  }

  template <typename T>
  absl::Status ReadValue(const Place& place, std::vector<T>* values, bool* taken) {
    if constexpr (kIsNumber<T>) {
      *taken = place.field.is_message() || place.field.wire_type == kWireTypeOf<T>;
      if (*taken && place.field.is_message()) return ReadPacked(place.field.payload, values);
    } else {
      *taken = place.field.is_message();
    }
    if (!*taken) return absl::OkStatus();
    if (values != nullptr && values->empty()) {
      values->reserve(1 + CountFields(place.rest, place.field.number));
    }
    if constexpr (kIsNumber<T>) {
      if (values != nullptr) values->push_back(NumberOf<T>(place.field));
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (values != nullptr) values->emplace_back(place.field.payload);
    } else {
      T* const message = values == nullptr ? nullptr : &values->emplace_back();
      return Read(place.field.payload, place.depth + 1, message);
    }
    return absl::OkStatus();
  }

  // Numbers of a fixed size lie in memory as in the file; a varint of one byte becomes four or
  // eight.
  template <typename T>
  absl::Status ReadPacked(absl::string_view payload, std::vector<T>* values) {
    if constexpr (!std::is_integral_v<T>) {
      if (payload.size() % sizeof(T) != 0) {
        return absl::InvalidArgumentError("packed numbers end within a number");
      }
      if (values == nullptr) return absl::OkStatus();
      const size_t count = values->size();
      values->resize(count + payload.size() / sizeof(T));
      if (!payload.empty()) std::memcpy(values->data() + count, payload.data(), payload.size());
      return absl::OkStatus();
    } else {
      // The last byte of each number is the one without the highest bit.
      const size_t count = static_cast<size_t>(std::count_if(
          payload.begin(), payload.end(), [](char byte) { return (byte & 0x80) == 0; }));
      packed_growth_bytes_ += std::max<int64_t>(
          0, static_cast<int64_t>(count * sizeof(T)) - static_cast<int64_t>(payload.size()));
      PLAIT_RETURN_IF_ERROR(Count(packed_growth_bytes_ / kModelFieldBytes));
      packed_growth_bytes_ %= kModelFieldBytes;
      // Once: growing to the exact size for every one of many short fields would take for ever.
      if (values != nullptr && values->empty()) values->reserve(count);
      return ReadVarints(payload, [values](uint64_t number) {
        if (values != nullptr) values->push_back(static_cast<T>(number));
      });
    }
  }

  // What one more message of this type takes.
  template <typename Message>
  absl::Status Enter() {
    if (std::is_same_v<Message, onnx::NodeProto> && ++nodes_ > kModelNodesMax) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the model has more than ", kModelNodesMax, " nodes"));
    }
    if (std::is_same_v<Message, onnx::GraphProto> && ++graph_depth_ > kSubgraphDepthMax + 1) {
      return absl::ResourceExhaustedError(
          absl::StrCat("subgraphs are nested deeper than ", kSubgraphDepthMax));
    }
    return Count(static_cast<int64_t>(sizeof(Message)) / kModelFieldBytes);
  }

  absl::Status Count(int64_t fields) {
    fields_ += fields;
    if (fields_ <= kModelFieldsMax) return absl::OkStatus();
    return absl::ResourceExhaustedError(
        absl::StrCat("the model has more than ", kModelFieldsMax, " fields"));
  }

  bool looks_at_initializers_ = false;
  int64_t nodes_ = 0;
  int64_t graph_depth_ = 0;
  int64_t fields_ = 0;
  int64_t packed_growth_bytes_ = 0;  // that is not yet counted as fields
};

absl::Status NotAModel(const absl::Status& status) {
  if (!absl::IsInvalidArgument(status)) return status;
  return Annotate(status, "not an ONNX model");
}

}  // namespace

absl::Status CheckModelWire(absl::string_view bytes) {
  if (bytes.empty()) return absl::InvalidArgumentError("the model is empty (0 bytes)");
  if (static_cast<int64_t>(bytes.size()) > kModelBytesMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the model has ", bytes.size(), " bytes, more than ", kModelBytesMax,
                     ", the largest protobuf message (strip its weights first)"));
  }
  return NotAModel(MessageReader().Read<onnx::ModelProto>(bytes, 0, nullptr));
}

namespace {

absl::StatusOr<onnx::ModelProto> ReadModelBy(MessageReader reader, absl::string_view bytes) {
  PLAIT_RETURN_IF_ERROR(CheckModelWire(bytes));
  onnx::ModelProto model;
  PLAIT_RETURN_IF_ERROR(NotAModel(reader.Read(bytes, 0, &model)));
  return model;
}

}  // namespace

absl::StatusOr<onnx::ModelProto> ReadModel(absl::string_view bytes) {
  return ReadModelBy(MessageReader(), bytes);
}

absl::StatusOr<onnx::ModelProto> ReadModelLookingAtInitializers(absl::string_view bytes) {
  return ReadModelBy(MessageReader::LookingAtInitializers(), bytes);
}

template <typename Message>
absl::StatusOr<Message> ReadMessage(absl::string_view bytes, absl::string_view what) {
  if (static_cast<int64_t>(bytes.size()) > kModelBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": ", bytes.size(), " bytes are more than a protobuf message has"));
  }
  Message message;
  for (Message* const target : {static_cast<Message*>(nullptr), &message}) {
    const absl::Status status = MessageReader().Read(bytes, 0, target);
    if (!status.ok()) return Annotate(status, what);
  }
  return message;
}

template absl::StatusOr<onnx::TensorProto> ReadMessage(absl::string_view, absl::string_view);
template absl::StatusOr<onnx::AttributeProto> ReadMessage(absl::string_view, absl::string_view);
template absl::StatusOr<onnx::NodeProto> ReadMessage(absl::string_view, absl::string_view);

}  // namespace plait
