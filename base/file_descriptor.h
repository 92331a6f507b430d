#pragma once

#include <utility>

namespace plait {

// An open file that is closed with its owner: what unique_ptr is for memory. Files are opened with
// O_CLOEXEC, so that no child inherits one that was not placed. Movable; not thread-safe.
class FileDescriptor {
 public:
  // No file.
  FileDescriptor() = default;
  // Takes the file over; a negative number, as of an open that failed, is no file.
  explicit FileDescriptor(int number) : number_(number) {}
  ~FileDescriptor() { Close(); }
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  // Stays this object's; negative when there is no file.
  // REQUIRES: nobody else closes it.
  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }

 private:
  // An error of close is ignored: what must be durable was synchronized before.
  void Close();

  // Owned, unless it is negative.
  int number_ = -1;
};

}  // namespace plait
