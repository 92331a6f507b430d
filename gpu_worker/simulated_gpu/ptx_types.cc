#include "gpu_worker/simulated_gpu/ptx_types.h"

namespace plait::simulated_gpu {
namespace {

struct Type {
  absl::string_view name;
  int64_t bytes;
};

constexpr Type kTypes[] = {
    {"b8", 1},  {"u8", 1},  {"s8", 1},  {"b16", 2},   {"u16", 2},    {"s16", 2},   {"f16", 2},
    {"b32", 4}, {"u32", 4}, {"s32", 4}, {"f32", 4},   {"bf16", 2},   {"f16x2", 4}, {"b64", 8},
    {"u64", 8}, {"s64", 8}, {"f64", 8}, {"b128", 16}, {"bf16x2", 4},
};

}  // namespace

int64_t BytesOfType(absl::string_view type) {
  for (const Type& known : kTypes) {
    if (known.name == type) return known.bytes;
  }
  return 0;
}

bool IsSigned(absl::string_view type) { return type.size() > 1 && type[0] == 's'; }

}  // namespace plait::simulated_gpu
