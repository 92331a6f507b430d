#define PLAIT_LOOP_TABLE GenericLoops
#define PLAIT_LOOP_INSTRUCTION_SET "generic"
#include "gpu_worker/backends/cpu/loops/loops_body.h"
