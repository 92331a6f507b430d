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

// A device: "cpu" or "cuda:<0..255>". Whether there is such a device is another question.
// Errors: InvalidArgument naming the field and the two forms.
absl::Status CheckDeviceId(absl::string_view field, absl::string_view id);

// The same for what a job may name: also "model:" and the name of a device that is described and
// not at hand. Whether there is one of that name is for the server to say.
absl::Status CheckJobDeviceId(absl::string_view field, absl::string_view id);
bool IsDescribedId(absl::string_view id);

// On which outputs are compared for a device that is only described.
inline constexpr char kComparingDevice[] = "cpu";

// plait.InferenceSession as a runtime of whole models: asked where parts of one run in onnxruntime,
// since plait's own workers run none of these. What a job says of plait holds for it, too: nobody
// names it.
inline constexpr char kSessionRuntime[] = "plaitsession";

// A runtime of whole models, as a device's id and in OptimizeOptions.runtimes: 1..64 lowercase
// letters or digits; "plait" is one.
// Errors: InvalidArgument naming the field.
absl::Status CheckRuntime(absl::string_view field, absl::string_view name);

// A backend that this build can search for and measure on: a line of backends.def.
// Errors: InvalidArgument naming the field and the backends there are.
absl::Status CheckBackend(absl::string_view field, absl::string_view backend);

// "cuda" of "cuda:0": the part of a device's id that names its backend.
absl::string_view BackendOf(absl::string_view device_id);

}  // namespace plait::wire
