#include "gpu_worker/backends/cpu/microkernel/assemble.h"

#include "base/status_macros.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define XBYAK_NO_EXCEPTION
#include <xbyak/xbyak.h>
#endif

namespace plait {

#if defined(__x86_64__)
namespace {

// The longest instruction has 15 bytes, and one of the list becomes at most three.
constexpr size_t kBytesPerInstruction = 48;
constexpr size_t kBytesAround = 4096;

// The calling convention of x86-64 System V: the argument comes in rdi, and of the registers used
// only rbx has to be given back. Vector registers are the caller's to save.
class Assembler : public Xbyak::CodeGenerator, public AssembledMicrokernel {
 public:
  explicit Assembler(const Microkernel& microkernel)
      : CodeGenerator(kBytesAround + kBytesPerInstruction * microkernel.instructions.size(),
                      Xbyak::DontSetProtectRWE),
        microkernel_(microkernel),
        is_wide_(microkernel.vector_floats == 16) {}

  // Called once. Errors: as Assemble.
  absl::Status Write() {
    push(rbx);
    for (int i = microkernel_.pointers - 1; i >= 0; --i) {
      mov(PointerOf(i), ptr[rdi + static_cast<size_t>(i) * 8]);
    }
    if (const int lanes = TailLanes(microkernel_); lanes > 0) WriteTailMask(lanes);
    for (const MicroInstruction& instruction : microkernel_.instructions) WriteOne(instruction);
    vzeroupper();
    pop(rbx);
    ret();
    // Behind the code: the mask that AVX2 takes from memory.
    align(32);
    L(mask_);
    for (int i = 0; i < 8; ++i) dd(i < TailLanes(microkernel_) ? 0xffffffffu : 0);
    if (Xbyak::GetError() != Xbyak::ERR_NONE) {
      const char* const error = Xbyak::ConvertErrorToString(Xbyak::GetError());
      Xbyak::ClearError();
      return absl::ResourceExhaustedError(absl::StrCat("microkernel: ", error));
    }
    if (!setProtectModeRE(/*throwException=*/false)) {
      return absl::FailedPreconditionError("microkernel: the system lets no code be made");
    }
    code_ = getCode<void (*)(std::byte* const*)>();
    return absl::OkStatus();
  }

 private:
  static const Xbyak::Reg64& Register(int index) {
    static const Xbyak::Reg64 registers[] = {
        Xbyak::Reg64(Xbyak::Operand::RDX), Xbyak::Reg64(Xbyak::Operand::RCX),
        Xbyak::Reg64(Xbyak::Operand::R8),  Xbyak::Reg64(Xbyak::Operand::R9),
        Xbyak::Reg64(Xbyak::Operand::R10), Xbyak::Reg64(Xbyak::Operand::R11),
        Xbyak::Reg64(Xbyak::Operand::RAX), Xbyak::Reg64(Xbyak::Operand::RSI),
        Xbyak::Reg64(Xbyak::Operand::RDI)};
    return registers[index];
  }
  static const Xbyak::Reg64& PointerOf(int pointer) { return Register(pointer); }
  static const Xbyak::Reg64& CounterOf(int depth) { return Register(kMicroPointers + depth); }

  // As wide as what `instruction` makes.
  Xbyak::Xmm VectorOf(int index, const MicroInstruction& instruction) const {
    const bool is_whole = microkernel_.floats_of(instruction.target) == 16;
    return is_whole ? static_cast<Xbyak::Xmm>(Xbyak::Zmm(index)) : Xbyak::Ymm(index);
  }

  Xbyak::Address Memory(const MicroInstruction& instruction) {
    return ptr[PointerOf(instruction.pointer) + instruction.offset];
  }

  void WriteTailMask(int lanes) {
    if (is_wide_) {
      mov(eax, (1u << lanes) - 1);
      kmovw(k1, eax);
    } else {
      vmovups(ymm15, ptr[rip + mask_]);
    }
  }

  void WriteOne(const MicroInstruction& instruction) {
    switch (instruction.op) {
      case MicroOp::kLoad:
      case MicroOp::kStore:
        return WriteMove(instruction);
      case MicroOp::kPrefetch:
        return prefetcht1(Memory(instruction));
      case MicroOp::kAdvance:
        return add(PointerOf(instruction.pointer), instruction.offset);
      case MicroOp::kRepeat:
        mov(CounterOf(static_cast<int>(repeats_.size())), instruction.number);
        L(repeats_.emplace_back());
        return;
      case MicroOp::kEnd: {
        const Xbyak::Label begin = repeats_.back();
        repeats_.pop_back();
        dec(CounterOf(static_cast<int>(repeats_.size())));
        return jnz(begin, T_NEAR);
      }
      case MicroOp::kTileZero:
      case MicroOp::kTileLoad:
      case MicroOp::kTileStore:
      case MicroOp::kTileMultiplyBytes:
      case MicroOp::kTileMultiplyBf16:
        return WriteTile(instruction);
      default:
        return WriteCompute(instruction);
    }
  }

  void WriteMove(const MicroInstruction& instruction) {
    const Xbyak::Xmm vector = VectorOf(instruction.target, instruction);
    const bool is_whole = instruction.number == microkernel_.floats_of(instruction.target);
    const bool is_store = instruction.op == MicroOp::kStore;
    const Xbyak::Address memory = Memory(instruction);
    if (is_whole) {
      is_store ? vmovups(memory, vector) : vmovups(vector, memory);
    } else if (is_wide_) {
      is_store ? vmovups(memory | k1, vector) : vmovups(vector | k1 | T_z, memory);
    } else {
      is_store ? vmaskmovps(memory, ymm15, vector) : vmaskmovps(vector, ymm15, memory);
    }
  }

  void WriteCompute(const MicroInstruction& instruction) {
    const Xbyak::Xmm target = VectorOf(instruction.target, instruction);
    const Xbyak::Xmm left = VectorOf(instruction.left, instruction);
    const Xbyak::Xmm right = VectorOf(instruction.right, instruction);
    switch (instruction.op) {
      case MicroOp::kZero:
        return is_wide_ ? vpxord(target, target, target) : vxorps(target, target, target);
      case MicroOp::kBroadcast:
        return vbroadcastss(target, Memory(instruction));
      case MicroOp::kMultiplyAdd:
        return vfmadd231ps(target, left, right);
      case MicroOp::kAdd:
        return vaddps(target, left, right);
      case MicroOp::kMax:
        return vmaxps(target, left, right);
      default:
        return;
    }
  }

  void WriteTile(const MicroInstruction& instruction) {
    const Xbyak::Tmm target(instruction.target);
    const Xbyak::Tmm left(instruction.left);
    const Xbyak::Tmm right(instruction.right);
    const Xbyak::Address rows = ptr[PointerOf(instruction.pointer) + rbx + instruction.offset];
    switch (instruction.op) {
      case MicroOp::kTileZero:
        return tilezero(target);
      case MicroOp::kTileLoad:
        mov(rbx, instruction.number);
        return tileloadd(target, rows);
      case MicroOp::kTileStore:
        mov(rbx, instruction.number);
        return tilestored(rows, target);
      case MicroOp::kTileMultiplyBytes:
        return tdpbssd(target, left, right);
      case MicroOp::kTileMultiplyBf16:
        return tdpbf16ps(target, left, right);
      default:
        return;
    }
  }

  const Microkernel& microkernel_;  // while Write runs
  const bool is_wide_;
  std::vector<Xbyak::Label> repeats_;
  Xbyak::Label mask_;
};

// Palette 1 of the manual (Intel, architecture instruction set extensions, 3.3).
struct alignas(64) TileConfiguration {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfiguration) == 64);

__attribute__((target("amx-tile"))) void Configure(const TileConfiguration& configuration) {
  // GCC 12 does not know that the instruction reads the structure, and would drop its stores.
  __asm__ volatile("" : : "r"(&configuration) : "memory");
  _tile_loadconfig(&configuration);
}

__attribute__((target("amx-tile"))) void Release() { _tile_release(); }

}  // namespace

absl::StatusOr<std::unique_ptr<AssembledMicrokernel>> Assemble(const Microkernel& microkernel) {
  PLAIT_RETURN_IF_ERROR(CheckMicrokernel(microkernel));
  Xbyak::ClearError();
  auto assembler = std::make_unique<Assembler>(microkernel);
  PLAIT_RETURN_IF_ERROR(assembler->Write());
  return assembler;
}

TileScope::TileScope(const Microkernel& microkernel) {
  TileConfiguration configuration;
  for (int i = 0; i < kMicroTiles; ++i) {
    configuration.row_bytes[i] = microkernel.tiles[i].row_bytes;
    configuration.rows[i] = microkernel.tiles[i].rows;
  }
  Configure(configuration);
}

TileScope::~TileScope() { Release(); }
#else
absl::StatusOr<std::unique_ptr<AssembledMicrokernel>> Assemble(const Microkernel& microkernel) {
  PLAIT_RETURN_IF_ERROR(CheckMicrokernel(microkernel));
  return absl::FailedPreconditionError("microkernel: code is made for x86-64 only");
}
TileScope::TileScope(const Microkernel&) {}
TileScope::~TileScope() {}
#endif

}  // namespace plait
