#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "gpu_worker/process/mapped_blob.h"

namespace plait {

// A blob of these bytes.
inline std::shared_ptr<const MappedBlob> MapBytes(const std::string& bytes) {
  absl::StatusOr<BlobFile> file = BlobFile::Create(DigestOf(bytes));
  EXPECT_TRUE(file.ok() && file->Append(bytes).ok()) << file.status();
  return *file->Map();
}

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
