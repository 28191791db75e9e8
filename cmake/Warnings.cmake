# pipeloom_warnings: the warnings for our own sources. It is linked as $<BUILD_INTERFACE:...>, so it never reaches a consumer.

set(warnings
  -Wall
  -Wextra
  -Wpedantic
  -Wcast-align
  -Wcast-qual
  -Wconversion
  -Wextra-semi
  -Wnon-virtual-dtor
  -Wold-style-cast
  -Woverloaded-virtual
  -Wshadow
  -Wsign-conversion
  -Wundef
  $<$<CXX_COMPILER_ID:GNU>:-Wduplicated-branches>
  $<$<CXX_COMPILER_ID:GNU>:-Wduplicated-cond>
  $<$<CXX_COMPILER_ID:GNU>:-Wlogical-op>
  $<$<BOOL:${PIPELOOM_WERROR}>:-Werror>)
# What nvcc writes between host and device passes few of them.
set(warnings_of_cuda -Xcompiler=-Wall,-Wextra $<$<BOOL:${PIPELOOM_WERROR}>:-Werror=all-warnings>)

add_library(pipeloom_warnings INTERFACE)
# Joined sources see each other's inner names and warn about them: builds of single sources judge.
if(CMAKE_UNITY_BUILD)
  target_compile_options(pipeloom_warnings INTERFACE "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>")
  return()
endif()
target_compile_options(pipeloom_warnings INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:${warnings}>"
  "$<$<COMPILE_LANGUAGE:CUDA>:${warnings_of_cuda}>")
