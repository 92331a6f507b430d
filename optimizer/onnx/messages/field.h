#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/string_view.h"

namespace plait::onnx {

// The elements of a tensor: bytes that a message has, or that it looks at where somebody else keeps
// them.
class Bytes {
 public:
  Bytes() = default;
  // As any value is assigned to its field.
  Bytes(std::string bytes) : kept_(std::move(bytes)) {}  // NOLINT(google-explicit-constructor)

  operator absl::string_view() const {  // NOLINT(google-explicit-constructor)
    return looks_ ? seen_ : absl::string_view(kept_);
  }
  const char* data() const { return absl::string_view(*this).data(); }
  size_t size() const { return absl::string_view(*this).size(); }
  bool looks() const { return looks_; }

  void assign(const char* data, size_t size) { *this = Bytes(std::string(data, size)); }
  void LookAt(absl::string_view bytes) {
    looks_ = true;
    seen_ = bytes;
  }

 private:
  bool looks_ = false;
  absl::string_view seen_;
  std::string kept_;
};

// What is written as a number of bytes and these.
template <typename T>
constexpr bool kIsBytes = std::is_same_v<T, std::string> || std::is_same_v<T, Bytes>;

// A field that a message has once or not at all. One that is absent reads as T's default, and is
// not written; one that was set to its default is.
template <typename T>
class Field {
 public:
  const T& operator()() const { return value_; }
  bool has() const { return has_; }

  Field& operator=(T value) {
    value_ = std::move(value);
    has_ = true;
    return *this;
  }
  T* mutable_value() {
    has_ = true;
    return &value_;
  }
  void clear() { *this = Field(); }

 private:
  T value_{};
  bool has_ = false;
};

// The same for a message in a message, which may be of its own type and takes memory only where it
// is present. Copies are deep.
template <typename T>
class MessageField {
 public:
  MessageField() = default;
  MessageField(const MessageField& other)
      : value_(other.has() ? std::make_unique<T>(*other.value_) : nullptr) {}
  MessageField(MessageField&&) noexcept = default;
  MessageField& operator=(const MessageField& other) { return *this = MessageField(other); }
  MessageField& operator=(MessageField&&) noexcept = default;

  const T& operator()() const {
    static const T absent{};
    return has() ? *value_ : absent;
  }
  bool has() const { return value_ != nullptr; }

  MessageField& operator=(T value) {
    value_ = std::make_unique<T>(std::move(value));
    return *this;
  }
  T* mutable_value() {
    if (!has()) value_ = std::make_unique<T>();
    return value_.get();
  }
  void clear() { value_.reset(); }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace plait::onnx
