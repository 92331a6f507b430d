#include "storage/file_error.h"

#include <cerrno>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "proto/wire/error.h"

namespace plait {

absl::Status FileError(int error_number, absl::string_view what) {
  const std::string message =
      absl::StrCat(what, ": ", std::generic_category().message(error_number));
  // What an operator can do about it decides the code.
  if (error_number == ENOSPC || error_number == EDQUOT) {
    return wire::WithReason(
        absl::ResourceExhaustedError(absl::StrCat(message, "; free some space")),
        v1::ERROR_REASON_STORAGE_UNAVAILABLE);
  }
  if (error_number == ENOENT) return wire::Error(v1::ERROR_REASON_NOT_FOUND, message);
  return wire::Error(v1::ERROR_REASON_STORAGE_UNAVAILABLE, message);
}

}  // namespace plait
