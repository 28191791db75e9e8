# PIPELOOM_MPI_FOUND: whether pipeloom-mpi is built, as PIPELOOM_BUILD_MPI asks. `cmake` prints the answer. AUTO takes what it
# finds, ON makes a missing MPI an error, OFF does not look. Nothing else links MPI.

set(PIPELOOM_BUILD_MPI AUTO CACHE STRING "Build pipeloom-mpi: AUTO (where MPI is found), ON or OFF")
set_property(CACHE PIPELOOM_BUILD_MPI PROPERTY STRINGS AUTO ON OFF)
if(NOT PIPELOOM_BUILD_MPI MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "PIPELOOM_BUILD_MPI is '${PIPELOOM_BUILD_MPI}'; allowed are AUTO, ON and OFF")
endif()

set(PIPELOOM_MPI_FOUND OFF)
if(NOT PIPELOOM_BUILD_MPI STREQUAL "OFF")
  # The C interface, of C++: the C++ one went with MPI 3.
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI 3.0 QUIET COMPONENTS CXX)
  if(MPI_CXX_FOUND)
    set(PIPELOOM_MPI_FOUND ON)
  elseif(PIPELOOM_BUILD_MPI STREQUAL "ON")
    message(FATAL_ERROR "PIPELOOM_BUILD_MPI is ON, but MPI was not found; install libopenmpi-dev, or set it to AUTO")
  endif()
endif()
if(PIPELOOM_MPI_FOUND)
  message(STATUS "pipeloom: pipeloom-mpi with MPI ${MPI_CXX_VERSION}")
else()
  message(STATUS "pipeloom: no pipeloom-mpi (PIPELOOM_BUILD_MPI=${PIPELOOM_BUILD_MPI})")
endif()
