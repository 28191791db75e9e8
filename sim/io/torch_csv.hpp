#pragma once

// PyTorch's `compute_only` schedule files: row i is rank i, cells in execution order, no header.
//
// A cell is `<stage><F|B|I|W><microbatch>`, `(<cell>;<cell>)OVERLAP_F_B`, or empty (a bubble that PyTorch drew; its runtime and we
// drop it). The reader is as lenient as PyTorch's but says what it passed over; the writer is strict.

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "sim/schedule.hpp"

namespace pipeloom::io {

struct TorchCsv {
  Schedule schedule;
  /// "file:line:column: ...": spaces, leading zeros or trailing text that PyTorch ignores.
  std::vector<std::string> warnings;
};

/// Reads a whole file. `name` is the file's name in messages. Throws InputError (file:line:column) for cells that PyTorch would
/// refuse, for ops without a microbatch, for communication actions (the lowered form), and for files from before the letters changed
/// (`BW`).
[[nodiscard]] TorchCsv read_torch_csv(std::string_view text, const std::string& name);

/// One rank per line, CR LF line ends, no blanks, as Python's csv module writes them.
/// Throws InputError for groups that PyTorch has no text for (anything but one F and one B).
void write_torch_csv(std::ostream& out, const Schedule& schedule);

/// Could this be such a file? Looks at the first cell only.
[[nodiscard]] bool looks_like_torch_csv(std::string_view text);

}  // namespace pipeloom::io
