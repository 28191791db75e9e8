#pragma once

// Catch2 of either major version, with the names of version 2 (Approx, matchers, generators) in reach.

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>

using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
