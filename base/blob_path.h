#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "base/digest.h"

namespace plait {

// Where a daemon keeps blobs that are whole, and where workers of its machine read them.
inline std::string BlobsFolder(const std::string& data_dir) { return data_dir + "/blobs"; }

// A blob in such a folder: in a folder for its first two digits, so that none has too many files.
inline std::string BlobPath(const std::string& blobs_folder, const Digest& digest) {
  return absl::StrCat(blobs_folder, "/", digest.sha256_hex.substr(0, 2), "/", digest.sha256_hex,
                      "-", digest.size_bytes);
}

}  // namespace plait
