#pragma once

// How many descriptors this process may have.

namespace pipeloom::cli {

/// As many as the system lets it: the usual limit of 1024 is a soft one.
void allow_many_files();

}  // namespace pipeloom::cli
