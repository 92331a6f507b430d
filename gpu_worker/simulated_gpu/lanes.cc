#include "gpu_worker/simulated_gpu/lanes.h"

namespace plait::simulated_gpu {

const OpcodeTable& LaneOpcodes() {
  static const OpcodeTable table = [] {
    OpcodeTable all;
    AddFloatOpcodes(&all);
    AddIntegerOpcodes(&all);
    AddBitOpcodes(&all);
    AddComparisonOpcodes(&all);
    AddConversionOpcodes(&all);
    return all;
  }();
  return table;
}

}  // namespace plait::simulated_gpu
