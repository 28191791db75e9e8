# Every package of the libraries and the programs, in one place. Tests and benchmarks look for theirs in their folders.

find_package(fmt REQUIRED)
find_package(Boost 1.74 CONFIG REQUIRED)  # headers only: Boost.Graph
find_package(nlohmann_json 3.11 REQUIRED)
find_package(CLI11 2.1 REQUIRED)
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(CAIRO REQUIRED IMPORTED_TARGET cairo)
find_package(SQLite3 REQUIRED)
find_package(ZLIB REQUIRED)
if(PIPELOOM_SERVE)
  pkg_check_modules(HTTPLIB QUIET IMPORTED_TARGET cpp-httplib)
endif()
include(Blas)
include(Gui)
