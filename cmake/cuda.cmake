# The headers of CUDA, NVRTC and cuDNN. PLAIT_CUDA is ON, OFF, or AUTO: on where all are found. Sets
# PLAIT_CUDA_FOUND, and makes PLAIT::cuda_headers.
#
# Headers are all: the driver, cuDNN, cuBLASLt and NVRTC are opened while the program runs, so that it
# starts on a machine without them, and kernels are compiled then, so that no nvcc is needed.
set(PLAIT_CUDA AUTO CACHE STRING "Build the CUDA backend: ON, OFF or AUTO")
set_property(CACHE PLAIT_CUDA PROPERTY STRINGS AUTO ON OFF)

set(PLAIT_CUDA_FOUND OFF)
if(PLAIT_CUDA)
  find_path(CUDA_INCLUDE_DIR cuda.h
    HINTS ENV CUDA_PATH ENV CUDA_HOME PATH_SUFFIXES include PATHS /usr/local/cuda/include)
  find_path(CUDNN_INCLUDE_DIR cudnn.h
    HINTS ${CUDA_INCLUDE_DIR} ENV CUDNN_PATH PATH_SUFFIXES include PATHS /usr/local/cuda/include)
  find_path(NVRTC_INCLUDE_DIR nvrtc.h HINTS ${CUDA_INCLUDE_DIR} NO_DEFAULT_PATH)
  if(CUDA_INCLUDE_DIR AND CUDNN_INCLUDE_DIR AND NVRTC_INCLUDE_DIR)
    set(PLAIT_CUDA_FOUND ON)
  elseif(NOT PLAIT_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "PLAIT_CUDA is ON, but cuda.h, nvrtc.h or cudnn.h was not found")
  endif()
endif()

if(PLAIT_CUDA_FOUND)
  if(NOT TARGET PLAIT::cuda_headers)
    add_library(PLAIT::cuda_headers INTERFACE IMPORTED)
    set_target_properties(PLAIT::cuda_headers PROPERTIES
      INTERFACE_INCLUDE_DIRECTORIES "${CUDA_INCLUDE_DIR};${CUDNN_INCLUDE_DIR}")
  endif()
  message(STATUS "CUDA backend: headers in ${CUDA_INCLUDE_DIR}, cuDNN's in ${CUDNN_INCLUDE_DIR}")
else()
  message(STATUS "CUDA backend: off")
endif()
