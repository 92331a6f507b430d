#pragma once

#include <cstdint>

#include <sys/eventfd.h>
#include <unistd.h>

#include "base/file_descriptor.h"

namespace plait {

// Wakes a thread that waits in poll(). Thread-safe.
class Wakeup {
 public:
  Wakeup() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  void Signal() {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(event_.number(), &one, sizeof(one));
  }
  void Clear() {
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = read(event_.number(), &count, sizeof(count));
  }
  int descriptor() const { return event_.number(); }

 private:
  FileDescriptor event_;
};

}  // namespace plait
