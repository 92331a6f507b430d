#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu_worker/process/mapped_blob.h"
#include "plait/v1/blob.pb.h"

namespace plait {

// A blob of these bytes.
inline std::shared_ptr<const MappedBlob> MapBytes(const std::string& bytes) {
  absl::StatusOr<BlobFile> file = BlobFile::Create(DigestOf(bytes));
  EXPECT_TRUE(file.ok() && file->Append(bytes).ok()) << file.status();
  return *file->Map();
}

// A server's blobs: what fetches them, and which were fetched.
struct FakeBlobs {
  absl::StatusOr<std::shared_ptr<const MappedBlob>> Fetch(const v1::Digest& digest) {
    const auto found = bytes.find(digest.sha256_hex());
    if (found == bytes.end()) return absl::NotFoundError("no such blob");
    fetched.push_back(found->second);
    return MapBytes(found->second);
  }

  std::map<std::string, std::string> bytes;  // by hash
  std::vector<std::string> fetched;
};

// The bytes of the floats 0, 0.5, 1, ...
inline std::string FloatBytes(int floats) {
  std::string bytes;
  for (int i = 0; i < floats; ++i) {
    const float value = 0.5f * static_cast<float>(i);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  return bytes;
}

}  // namespace plait
