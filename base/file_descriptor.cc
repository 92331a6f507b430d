#include "base/file_descriptor.h"

#include <unistd.h>

namespace plait {

void FileDescriptor::Close() {
  // What was written was synchronized before; close has nothing to report that matters.
  if (number_ >= 0) close(number_);
  number_ = -1;
}

}  // namespace plait
