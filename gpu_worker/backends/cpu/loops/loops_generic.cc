// For every processor that the program itself runs on: no flags for an instruction set.

#define PLAIT_LOOP_TABLE GenericLoops
#define PLAIT_LOOP_INSTRUCTION_SET "generic"
#include "gpu_worker/backends/cpu/loops/loops_body.h"
