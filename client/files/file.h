#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plait {

// Replaces a file in one step: whoever reads it sees the old bytes or the new ones, never a part.
// Of a link the file that it names; what is no file, as a device or a pipe, is written to.
// Errors: those of the file system, naming the file.
absl::Status WriteFile(const std::string& name, absl::string_view bytes);

// Whether WriteFile could write there now: asked before a work of minutes. Errors: those of the
// file system, naming the file.
absl::Status CheckWritable(const std::string& path);

// Writes behind what a file has; makes it where there is none. Errors: those of the file system,
// naming the file.
absl::Status AppendFile(const std::string& path, absl::string_view bytes);

// Errors: those of the file system, naming the folder.
absl::Status MakeFolders(const std::string& path);

// The same for a folder that nobody else may look into. One that is there already, in a folder in
// which everybody may make files, is refused when somebody else made it or may write into it.
// Errors: as MakeFolders; PermissionDenied.
absl::Status MakePrivateFolder(const std::string& path);

// ReadPackedModel, whose errors say MODEL_REJECTED where the model is at fault.
absl::StatusOr<std::string> ReadModelFile(const std::string& path);

}  // namespace plait
