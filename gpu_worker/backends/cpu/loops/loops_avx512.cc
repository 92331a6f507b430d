// Sixteen floats per instruction; the compiler is told to prefer them to eight.

#define PLAIT_LOOP_TABLE Avx512Loops
#define PLAIT_LOOP_INSTRUCTION_SET "avx512"
#include "gpu_worker/backends/cpu/loops/loops_body.h"
