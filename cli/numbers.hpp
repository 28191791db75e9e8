#pragma once

// Numbers as people write and read them.

#include <string>
#include <string_view>

#include <pipeloom/units.hpp>
#include "study/text/numbers.hpp"
#include "study/text/table.hpp"

namespace pipeloom::cli {

using study::count_text;
using study::time_text;
using study::TimeFormat;

/// Reads "512", "8G", "8GiB" or "1.5 TB" as bytes: K M G T count in 1024 as KiB MiB GiB TiB do, KB MB GB TB in 1000.
/// Throws InputError at `option` for anything else and for zero.
[[nodiscard]] double parse_size(std::string_view text, std::string_view option);

/// A measured time in milliseconds, without its unit.
[[nodiscard]] std::string ms(Ticks time);

// Tables, as every command prints them.

using study::Align;
using study::Column;
using study::display_width;
using study::Table;
using study::wrapped;

}  // namespace pipeloom::cli
