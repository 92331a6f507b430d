#include "server/search_child/map_model.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "proto/wire/error.h"
#include "server/search_child/protocol/descriptors.h"

namespace plait {

// Mapped and not read: pages of weights that nothing looks at never take memory.
absl::StatusOr<absl::string_view> MapModel() {
  struct stat file = {};
  if (fstat(kChildModel, &file) != 0) return absl::InternalError("the model cannot be read");
  if (file.st_size == 0) {
    return wire::Error(v1::ERROR_REASON_MODEL_REJECTED, "the model has no bytes");
  }
  const auto size = static_cast<size_t>(file.st_size);
  void* const bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, kChildModel, 0);
  if (bytes == MAP_FAILED) {
    return wire::Error(v1::ERROR_REASON_LIMIT_EXCEEDED,
                       absl::StrCat("a model of ", size, " bytes does not fit into memory"));
  }
  return absl::string_view(static_cast<const char*>(bytes), size);
}

}  // namespace plait
