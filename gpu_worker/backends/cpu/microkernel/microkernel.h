#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"

// Map of this folder:
//   microkernel       the list: what the innermost code of a product does, instruction by
//                     instruction (here)
//   fma_microkernel   writes the list of a tile of an fp32 product
//   digit_microkernel the same of a product of numbers in digits, on AMX
//   bf16_microkernel  and of one of numbers in planes of bf16
//   plane_tile, plane_writer   what tiles of products in planes have in common
//   assemble          list -> machine code of this processor; the only file that sees Xbyak
//   interpret         list -> the same, in C++, with every address checked
// Whoever needs the innermost code of a matrix product or a convolution has a list written for its
// exact shape, strides and tail, and assembles it when a plan is loaded. Everything around that
// code, rows, channels and threads, stays C++.
namespace plait {

// What one instruction does. v, a and b are vector registers, t, l and r tiles, p a pointer.
enum class MicroOp : uint8_t {
  kZero,               // v = 0
  kLoad,               // the first `lanes` floats of v = [p + offset], the others 0
  kBroadcast,          // every float of v = the one at [p + offset]
  kMultiplyAdd,        // v += a * b, rounded once
  kAdd,                // v = a + b
  kMax,                // v = a > b ? a : b, so that a NaN gives b
  kStore,              // [p + offset] = the first `lanes` floats of v
  kPrefetch,           // [p + offset] is going to be read: into the second cache
  kAdvance,            // p += offset
  kRepeat,             // what follows, up to its kEnd, is done `count` times; may be nested
  kEnd,                //
  kTileZero,           // t = 0
  kTileLoad,           // the rows of t = those at [p + offset], `stride` bytes apart
  kTileMultiplyBytes,  // t += l * r, of signed bytes in int32: r has four rows in one
  kTileMultiplyBf16,   // the same of bf16 in fp32: r has two rows in one
  kTileStore,          // the rows at [p + offset], `stride` bytes apart = those of t
};

// An instruction; what its operation does not name is 0.
struct MicroInstruction {
  MicroOp op = MicroOp::kZero;
  uint8_t target = 0;  // v or t; of a store what is stored
  uint8_t left = 0;    // a or l
  uint8_t right = 0;   // b or r
  uint8_t pointer = 0;
  int32_t offset = 0;  // in bytes
  int32_t number = 0;  // lanes, count or stride

  friend bool operator==(const MicroInstruction&, const MicroInstruction&) = default;
};

// Rows and bytes of each row of a tile; no rows: the tile is not used.
struct TileShape {
  uint8_t rows = 0;
  uint16_t row_bytes = 0;

  friend bool operator==(const TileShape&, const TileShape&) = default;
};

constexpr int kMicroPointers = 6;     // arguments of a microkernel
constexpr int kMicroRepeatDepth = 3;  // kRepeat in kRepeat in kRepeat
constexpr int kMicroTiles = 8;

// A list of instructions. A value: pure data, the same on every machine.
struct Microkernel {
  int vector_floats = 16;  // 16: AVX-512, whose 32 registers are used; 8: AVX2, with 15
  // Of AVX-512, a bit per register that is used as half a vector, of 8 floats: what it is loaded
  // with, computed from and stored to.
  uint32_t half_vectors = 0;
  int pointers = 0;  // how many are passed
  TileShape tiles[kMicroTiles] = {};
  std::vector<MicroInstruction> instructions;

  int vectors() const { return vector_floats == 16 ? 32 : 15; }
  int floats_of(int vector) const { return (half_vectors >> vector & 1) != 0 ? 8 : vector_floats; }
  bool uses_tiles() const;
};

// Whether the list can be assembled and interpreted at all, whoever wrote it: registers, pointers
// and tiles that there are, shapes of tiles that fit each other, repeats that end, whole
// vectors that are not made of halves, and one number of lanes below what registers hold in all of
// it, for which a processor sets a mask once. It does not
// say that addresses are right: that depends on what is passed.
// Errors: InvalidArgument naming the instruction.
absl::Status CheckMicrokernel(const Microkernel& microkernel);

// The number of lanes below what a register holds that the list uses; 0: none.
// REQUIRES: CheckMicrokernel passes.
int TailLanes(const Microkernel& microkernel);

}  // namespace plait
