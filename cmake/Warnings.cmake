# pipeloom_warnings: the warnings for our own sources. It is linked as $<BUILD_INTERFACE:...>, so it never reaches a consumer.

add_library(pipeloom_warnings INTERFACE)
target_compile_options(pipeloom_warnings INTERFACE
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
