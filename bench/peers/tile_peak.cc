#include "bench/peers/tile_peak.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace plait {

#if defined(__x86_64__)
namespace {

// Palette 1 with eight tiles of 16 rows of 64 bytes, as the manual lays it out.
struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);

__attribute__((target("amx-tile"))) void ConfigureTiles() {
  const TileConfig config;
  // GCC 12 does not know that the instruction reads the structure, and would drop its stores.
  __asm__ volatile("" : : "r"(&config) : "memory");
  _tile_loadconfig(&config);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  _tile_zero(6);
  _tile_zero(7);
}

}  // namespace

__attribute__((target("amx-tile,amx-int8"))) void MultiplyByteTiles(int64_t steps) {
  ConfigureTiles();
  for (int64_t step = 0; step < steps; ++step) {
    _tile_dpbssd(0, 4, 6);
    _tile_dpbssd(1, 4, 7);
    _tile_dpbssd(2, 5, 6);
    _tile_dpbssd(3, 5, 7);
  }
  _tile_release();
}

__attribute__((target("amx-tile,amx-bf16"))) void MultiplyBf16Tiles(int64_t steps) {
  ConfigureTiles();
  for (int64_t step = 0; step < steps; ++step) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_release();
}
#else
void MultiplyByteTiles(int64_t) {}
void MultiplyBf16Tiles(int64_t) {}
#endif

}  // namespace plait
