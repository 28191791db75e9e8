# PIPELOOM_CUDA_FOUND: whether a usable CUDA compiler is there, as PIPELOOM_CUDA asks. `cmake` prints the answer.
# AUTO takes what it finds, ON makes a missing compiler an error, OFF does not look. The compiler is found on PATH or
# through CUDACXX.

if(NOT PIPELOOM_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "PIPELOOM_CUDA is '${PIPELOOM_CUDA}'; allowed are AUTO, ON and OFF")
endif()

set(PIPELOOM_CUDA_FOUND OFF)
if(NOT PIPELOOM_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(PIPELOOM_CUDA_FOUND ON)
  elseif(PIPELOOM_CUDA STREQUAL "ON")
    message(FATAL_ERROR "PIPELOOM_CUDA is ON, but no CUDA compiler was found; put nvcc on PATH, set CUDACXX to it, or use AUTO")
  endif()
endif()
if(PIPELOOM_CUDA_FOUND)
  message(STATUS "pipeloom: CUDA compiler ${CMAKE_CUDA_COMPILER}")
else()
  message(STATUS "pipeloom: no CUDA (PIPELOOM_CUDA=${PIPELOOM_CUDA})")
endif()
