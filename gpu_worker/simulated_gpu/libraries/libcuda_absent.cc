// Driver functions that cuDNN looks for before it compiles engines at run time, and never calls for
// a list of them: without their names it takes the driver for none.

namespace {

constexpr int kNotSupported = 801;  // CUDA_ERROR_NOT_SUPPORTED

}  // namespace

// Without the driver's header, whose macros rename some of these: here it is the bare names.
#define PLAIT_ABSENT_FUNCTION(name) \
  extern "C" __attribute__((visibility("default"))) int name() { return kNotSupported; }
PLAIT_ABSENT_FUNCTION(cuCtxGetCurrent)
PLAIT_ABSENT_FUNCTION(cuCtxGetLimit)
PLAIT_ABSENT_FUNCTION(cuCtxPopCurrent)
PLAIT_ABSENT_FUNCTION(cuCtxPushCurrent)
PLAIT_ABSENT_FUNCTION(cuKernelGetAttribute)
PLAIT_ABSENT_FUNCTION(cuKernelSetAttribute)
PLAIT_ABSENT_FUNCTION(cuLaunchCooperativeKernel)
PLAIT_ABSENT_FUNCTION(cuLaunchKernelEx)
PLAIT_ABSENT_FUNCTION(cuLibraryLoadFromFile)
PLAIT_ABSENT_FUNCTION(cuLinkAddData)
PLAIT_ABSENT_FUNCTION(cuLinkComplete)
PLAIT_ABSENT_FUNCTION(cuLinkCreate)
PLAIT_ABSENT_FUNCTION(cuLinkDestroy)
PLAIT_ABSENT_FUNCTION(cuOccupancyMaxPotentialClusterSize)
PLAIT_ABSENT_FUNCTION(cuStreamGetCtx)
#undef PLAIT_ABSENT_FUNCTION
