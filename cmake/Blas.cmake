# PIPELOOM_BLAS_FOUND: whether real layers multiply with OpenBLAS, as PIPELOOM_BLAS asks. `cmake` prints the answer. AUTO takes what
# it finds (nothing under the thread sanitizer, which cannot look into the library's own locks), ON makes a missing OpenBLAS an
# error, OFF does not look: executor/layers/tensor_math.cpp then multiplies with plain loops.

set(PIPELOOM_BLAS AUTO CACHE STRING "Multiply matrices with OpenBLAS: AUTO (where it is found), ON or OFF")
set_property(CACHE PIPELOOM_BLAS PROPERTY STRINGS AUTO ON OFF)
if(NOT PIPELOOM_BLAS MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "PIPELOOM_BLAS is '${PIPELOOM_BLAS}'; allowed are AUTO, ON and OFF")
endif()

set(PIPELOOM_BLAS_FOUND OFF)
if(PIPELOOM_BLAS STREQUAL "ON" OR (PIPELOOM_BLAS STREQUAL "AUTO" AND NOT PIPELOOM_SANITIZE MATCHES "thread"))
  pkg_check_modules(OPENBLAS QUIET IMPORTED_TARGET openblas)
  if(OPENBLAS_FOUND)
    set(PIPELOOM_BLAS_FOUND ON)
  elseif(PIPELOOM_BLAS STREQUAL "ON")
    message(FATAL_ERROR "PIPELOOM_BLAS is ON, but OpenBLAS was not found; install libopenblas-dev, or set it to AUTO")
  endif()
endif()
if(PIPELOOM_BLAS_FOUND)
  message(STATUS "pipeloom: real layers with OpenBLAS ${OPENBLAS_VERSION}")
else()
  message(STATUS "pipeloom: real layers with plain loops (PIPELOOM_BLAS=${PIPELOOM_BLAS})")
endif()
