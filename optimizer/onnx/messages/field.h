#pragma once

#include <memory>
#include <utility>

namespace plait::onnx {

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
