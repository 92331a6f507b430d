#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

// Names that strangers choose. All functions are pure and thread-safe; `field` is the value's path
// from the request, for errors.
namespace plait::wire {

// A printable name without spaces, as of a worker, a tenant or a fingerprint: 1..256 bytes of
// ASCII. Errors: InvalidArgument naming the field and the fault.
absl::Status CheckName(absl::string_view field, absl::string_view name);

// A job's id: 1..64 lowercase letters, digits or '-'.
// Errors: InvalidArgument.
absl::Status CheckJobId(absl::string_view id);

// A client's request id: empty (none), or 1..64 letters, digits, '-' or '_'.
// Errors: InvalidArgument.
absl::Status CheckRequestId(absl::string_view id);

// A device: "cpu", "cuda:<0..255>", or "model:" and a name of lowercase letters, digits, '-', '_'
// and '.'. Whether there is such a device is another question.
// Errors: InvalidArgument naming the field and the three forms.
absl::Status CheckDeviceId(absl::string_view field, absl::string_view id);

}  // namespace plait::wire
