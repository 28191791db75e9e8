# PIPELOOM_CUDA_FOUND: whether the CUDA back end (executor/cuda, pipeloom-cuda) is built, as PIPELOOM_CUDA asks. `cmake` prints the answer.
# AUTO takes what it finds, ON makes a missing compiler or library an error, OFF does not look. The compiler is found on PATH or through
# CUDACXX, NCCL beside the toolkit, in the system's folders or under NCCL_ROOT.
#
# Defines pipeloom_nccl, an interface library with NCCL's header and library.

if(NOT PIPELOOM_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "PIPELOOM_CUDA is '${PIPELOOM_CUDA}'; allowed are AUTO, ON and OFF")
endif()

# PIPELOOM_CUDA_FOUND, or PIPELOOM_CUDA_MISSING: what is not there.
function(pipeloom_look_for_cuda)
  set(PIPELOOM_CUDA_FOUND OFF PARENT_SCOPE)
  include(CheckLanguage)
  check_language(CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    set(PIPELOOM_CUDA_MISSING "no CUDA compiler was found; put nvcc on PATH, set CUDACXX to it" PARENT_SCOPE)
    return()
  endif()
  find_package(CUDAToolkit QUIET)
  if(NOT CUDAToolkit_FOUND)
    set(PIPELOOM_CUDA_MISSING "the libraries of ${CMAKE_CUDA_COMPILER} were not found; install the whole toolkit" PARENT_SCOPE)
    return()
  endif()
  find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS} ENV NCCL_ROOT PATH_SUFFIXES include)
  find_library(NCCL_LIBRARY nccl HINTS ${CUDAToolkit_LIBRARY_DIR} ENV NCCL_ROOT PATH_SUFFIXES lib lib64)
  mark_as_advanced(NCCL_INCLUDE_DIR NCCL_LIBRARY)
  if(NOT NCCL_INCLUDE_DIR OR NOT NCCL_LIBRARY)
    set(PIPELOOM_CUDA_MISSING "NCCL was not found; install libnccl-dev, set NCCL_ROOT to where it is" PARENT_SCOPE)
    return()
  endif()
  set(PIPELOOM_CUDA_FOUND ON PARENT_SCOPE)
endfunction()

set(PIPELOOM_CUDA_FOUND OFF)
if(PIPELOOM_CUDA STREQUAL "OFF")
  set(PIPELOOM_CUDA_MISSING "PIPELOOM_CUDA is OFF")
elseif(PIPELOOM_CUDA STREQUAL "AUTO" AND (PIPELOOM_SANITIZE OR PIPELOOM_FUZZERS))
  # nvcc takes no -fsanitize, and what runs on a device is not watched by it.
  set(PIPELOOM_CUDA_MISSING "not with sanitizers")
else()
  # Ampere and Hopper. The compiler's own default is older than bf16; `native` needs a GPU at hand.
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
    set(CMAKE_CUDA_ARCHITECTURES 80 90)
  endif()
  pipeloom_look_for_cuda()
  if(NOT PIPELOOM_CUDA_FOUND AND PIPELOOM_CUDA STREQUAL "ON")
    message(FATAL_ERROR "PIPELOOM_CUDA is ON, but ${PIPELOOM_CUDA_MISSING}, or use AUTO")
  endif()
endif()

if(NOT PIPELOOM_CUDA_FOUND)
  message(STATUS "pipeloom: no CUDA (PIPELOOM_CUDA=${PIPELOOM_CUDA}): ${PIPELOOM_CUDA_MISSING}")
  return()
endif()

enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
# CMake before 3.26 does not know that nvcc can C++20, and the libraries that .cu files link ask for it.
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
if(CMAKE_CXX_COMPILER_LAUNCHER AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
  set(CMAKE_CUDA_COMPILER_LAUNCHER "${CMAKE_CXX_COMPILER_LAUNCHER}")
endif()

add_library(pipeloom_nccl INTERFACE)
target_include_directories(pipeloom_nccl SYSTEM INTERFACE "${NCCL_INCLUDE_DIR}")
target_link_libraries(pipeloom_nccl INTERFACE "${NCCL_LIBRARY}")

list(JOIN CMAKE_CUDA_ARCHITECTURES " " architectures)
message(STATUS "pipeloom: CUDA ${CMAKE_CUDA_COMPILER_VERSION} for sm ${architectures}, NCCL ${NCCL_LIBRARY}")
