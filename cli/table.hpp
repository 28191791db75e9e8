#pragma once

// Tables, as every command prints them.

#include "study/text/table.hpp"

namespace pipeloom::cli {

using study::Align;
using study::Column;
using study::display_width;
using study::Table;
using study::wrapped;

}  // namespace pipeloom::cli
