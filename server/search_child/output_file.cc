#include "server/search_child/output_file.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "proto/wire/error.h"

namespace plait {

absl::Status AppendToFile(int file, absl::string_view bytes, absl::string_view what) {
  while (!bytes.empty()) {
    const ssize_t count = write(file, bytes.data(), bytes.size());
    if (count < 0) {
      return wire::Error(v1::ERROR_REASON_STORAGE_UNAVAILABLE,
                         absl::StrCat(what, " cannot be written"));
    }
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return absl::OkStatus();
}

}  // namespace plait
