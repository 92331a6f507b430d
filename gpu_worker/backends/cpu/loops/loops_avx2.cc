// Eight floats per instruction, with fused multiply-add.

#define PLAIT_LOOP_TABLE Avx2Loops
#define PLAIT_LOOP_INSTRUCTION_SET "avx2"
#include "gpu_worker/backends/cpu/loops/loops_body.h"
