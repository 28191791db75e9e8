# What holds for every target of this build, the tests included.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

if(PROJECT_IS_TOP_LEVEL)
  find_program(PIPELOOM_CCACHE ccache)
  mark_as_advanced(PIPELOOM_CCACHE)
  if(PIPELOOM_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    # Paths relative to the checkout, so that one checkout finds what another has compiled; and what ccache asks of those who use precompiled
    # headers.
    set(launcher "${CMAKE_COMMAND};-E;env;CCACHE_BASEDIR=${PROJECT_SOURCE_DIR};CCACHE_NOHASHDIR=1;CCACHE_SLOPPINESS=pch_defines,time_macros")
    if(EMSCRIPTEN)
      # em++ is a script, which starts the compiler through this.
      set(CMAKE_CXX_COMPILER_LAUNCHER "${launcher};EM_COMPILER_WRAPPER=${PIPELOOM_CCACHE}")
    else()
      set(CMAKE_CXX_COMPILER_LAUNCHER "${launcher};${PIPELOOM_CCACHE}")
    endif()
  endif()
endif()

if(PIPELOOM_SANITIZE)
  add_compile_options(-fsanitize=${PIPELOOM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${PIPELOOM_SANITIZE})
endif()

# libFuzzer steers by the branches that its input takes: every library under test reports its own.
if(PIPELOOM_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "PIPELOOM_FUZZERS needs clang (libFuzzer); configure with --preset fuzz")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_link_options(-fsanitize=fuzzer-no-link)
endif()
