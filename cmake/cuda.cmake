# The CUDA toolkit and cuDNN. PLAIT_CUDA is ON, OFF, or AUTO: on where nvcc and cuDNN's header are
# found. Sets PLAIT_CUDA_FOUND, enables the language CUDA, and makes CUDNN::headers.
#
# Only the runtime is linked, statically; cuDNN, cuBLASLt, NVRTC and the driver are opened while the
# program runs, so that it starts on a machine without them.
set(PLAIT_CUDA AUTO CACHE STRING "Build the CUDA backend: ON, OFF or AUTO")
set_property(CACHE PLAIT_CUDA PROPERTY STRINGS AUTO ON OFF)

set(PLAIT_CUDA_FOUND OFF)
if(PLAIT_CUDA)
  if(NOT DEFINED CMAKE_CUDA_COMPILER AND EXISTS /usr/local/cuda/bin/nvcc)
    set(CMAKE_CUDA_COMPILER /usr/local/cuda/bin/nvcc)
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  get_filename_component(plait_cuda_bin "${CMAKE_CUDA_COMPILER}" DIRECTORY)
  find_path(CUDNN_INCLUDE_DIR cudnn.h HINTS ${plait_cuda_bin}/../include
    PATHS /usr/local/cuda/include)
  if(CMAKE_CUDA_COMPILER AND CUDNN_INCLUDE_DIR)
    set(PLAIT_CUDA_FOUND ON)
  elseif(NOT PLAIT_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "PLAIT_CUDA is ON, but nvcc or cudnn.h was not found")
  endif()
endif()

if(PLAIT_CUDA_FOUND)
  # The default would be a GPU generation that no kernel of ours is written for.
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90a-real 100-real)
  endif()
  enable_language(CUDA)
  # CMake 3.25 knows no C++20 for nvcc, though nvcc does.
  if(CMAKE_VERSION VERSION_LESS 3.26)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  endif()
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  find_package(CUDAToolkit REQUIRED)
  if(NOT TARGET CUDNN::headers)
    add_library(CUDNN::headers INTERFACE IMPORTED)
    set_target_properties(CUDNN::headers PROPERTIES
      INTERFACE_INCLUDE_DIRECTORIES "${CUDNN_INCLUDE_DIR}")
  endif()
  message(STATUS "CUDA backend: ${CMAKE_CUDA_COMPILER_VERSION}, cuDNN headers in "
    "${CUDNN_INCLUDE_DIR}")
else()
  message(STATUS "CUDA backend: off")
endif()
