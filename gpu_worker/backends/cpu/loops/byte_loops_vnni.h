#pragma once

#include "gpu_worker/backends/cpu/loops/byte_loops.h"

namespace plait {

// The loops of byte_loops_vnni.cc; nullptr on other kinds of processors.
const ByteLoops* VnniByteLoops();

}  // namespace plait
